// SPDX-License-Identifier: Apache-2.0
// The elastic mechanism on the device: a report for a place, exactly as Python draws it from the same bytes.

import { GeoelasticError } from "./errors.js";
import { components, Search, UNREACHABLE } from "./graph.js";
import { Metric } from "./metric.js";
import { SystemRandom, uniformBelow } from "./random.js";
import { Sampler, STEP } from "./sampler.js";
import { makeWeights } from "./weights.js";

/** Of the chances of reports, what a mean distance and a radius may leave out: the last of ten thousand. */
const LEFT = 1e-4;
/** Powers of a half; what follows is no double any more. */
const HALVES = Float64Array.from({ length: 1075 }, (_, k) => 2 ** -k);

export class Elastic {
  static async fetch(url) {
    return new Elastic(await Metric.fetch(url));
  }

  static async fromBytes(bytes) {
    return new Elastic(await Metric.fromBytes(bytes));
  }

  constructor(metric) {
    this.metric = metric;
    // no other exponent has a guarantee: all of the distances of a sharpened map, half of those of any other
    this.weights = makeWeights(1, metric.height === undefined ? 2 : 1);
    this.graph = metric.reportGraph;
    this.sampler = new Sampler(this.graph, metric.measure, this.weights);
    this.parts = components(this.graph);
    this.totals = new Float64Array(metric.n);
    for (let i = 0; i < metric.n; i++) this.totals[this.parts[i]] += metric.measure[i];
  }

  /** A report {lat, lon} for a place; throws where the place cannot be hidden. */
  report(lat, lon, random = new SystemRandom()) {
    return this.reportFrom(this.metric.locateSecret(lat, lon), random);
  }

  /** A report from a location: its own location, cell and coordinates. */
  reportFrom(i, random = new SystemRandom()) {
    return this.#cell(this.sample(i, random), random);
  }

  /** Many independent reports from one location; they share the search. */
  reportsFrom(i, count, random = new SystemRandom()) {
    if (this.metric.fence[i] > 0) return Array.from({ length: count }, () => this.reportFrom(i, random));
    this.#requireSecret(i);
    const drawn = this.sampler.drawMany(i, this.#reachable(i), random, count);
    return drawn.map((location) => this.#cell(location, random));
  }

  /** The number of a reported location. */
  sample(i, random = new SystemRandom()) {
    this.#requireSecret(i);
    return this.metric.fence[i] > 0 ? this.#inFence(i, random) : this.sampler.draw(i, this.#reachable(i), random);
  }

  #requireSecret(i) {
    if (!this.metric.isSecret(i)) throw new GeoelasticError("frame", "the place is in the map's frame: it cannot be hidden there");
  }

  #reachable(i) {
    const total = this.totals[this.parts[i]];
    if (!(total > 0)) throw new GeoelasticError("input", "nothing that can be reached from this location may be reported");
    return total;
  }

  #inFence(i, random) {
    const { fence, leaves } = this.metric;
    const members = [];
    let cells = 0;
    for (let j = 0; j < fence.length; j++) {
      if (fence[j] !== fence[i]) continue;
      members.push(j);
      cells += leaves.size[j] ** 2;
    }
    let offset = Number(uniformBelow(random, BigInt(cells)));
    for (const j of members) {
      if (offset < leaves.size[j] ** 2) return j;
      offset -= leaves.size[j] ** 2;
    }
    throw new Error("the offset lies within the fence");
  }

  /** A cell drawn evenly from a reported location. */
  #cell(location, random) {
    const { row, col, size } = this.metric.leaves;
    const side = size[location];
    const place = Number(uniformBelow(random, BigInt(side * side)));
    const cell = [row[location] + Math.floor(place / side), col[location] + (place % side)];
    const [lat, lon] = this.metric.cellToLatLon(...cell);
    return { lat, lon, location, row: cell[0], col: cell[1] };
  }

  /** The probability of reporting each location from location i. */
  probabilities(i) {
    const { n, fence, leaves, measure } = this.metric;
    const units = this.metric.distanceUnits(i, UNREACHABLE - 1, new Search(this.graph));
    const period = this.weights.length;
    const chance = new Float64Array(n);
    let sum = 0;
    for (let j = 0; j < n; j++) {
      if (units[j] === UNREACHABLE) continue;
      const shell = Math.floor(units[j] / period);
      chance[j] = fence[i] > 0 ? leaves.size[j] ** 2 : measure[j] * this.weights[units[j] - shell * period] * 2 ** -shell;
      sum += chance[j];
    }
    return chance.map((value) => value / sum);
  }

  /**
   * Mean distance in metres between the centre of location i and a report's location, and the radius of 95 % of reports. What lies so far
   * away that all of it together has less than `LEFT` of the chances is not looked at, and counts as beyond the radius.
   */
  spread(i) {
    const { rows, cols, cellM, leaves } = this.metric;
    const bins = new Float64Array(512);
    const width = (Math.hypot(rows, cols) * cellM) / bins.length;
    const middle = (side, j) => side[j] + leaves.size[j] / 2;
    const [x, y] = [middle(leaves.col, i), middle(leaves.row, i)];
    let mean = 0;
    const { known, rest } = this.#eachNear(i, (j, chance) => {
      const [east, north] = [middle(leaves.col, j) - x, middle(leaves.row, j) - y];
      const away = Math.sqrt(east * east + north * north) * cellM; // hypot takes ten times as long
      mean += chance * away;
      bins[Math.min(bins.length - 1, Math.floor(away / width))] += chance;
    });
    let sum = 0;
    const last = bins.findIndex((part) => (sum += part) >= 0.95 * (known + rest));
    return { meanM: mean / known, radius95M: ((last < 0 ? bins.length - 1 : last) + 1) * width };
  }

  /** Tell locations and their chances, up to one factor, from the nearest on until next to nothing is left: {known, rest} in the same unit. */
  #eachNear(i, tell) {
    const { fence, leaves, measure } = this.metric;
    let known = 0;
    const count = (j, chance) => {
      known += chance;
      if (chance > 0) tell(j, chance);
    };
    if (fence[i] > 0) {
      for (let j = 0; j < fence.length; j++) if (fence[j] === fence[i]) count(j, leaves.size[j] ** 2);
      return { known, rest: 0 };
    }
    const { search } = this.sampler;
    const period = this.weights.length;
    const weight = (units) => this.weights[units % period] * (HALVES[Math.floor(units / period)] ?? 0);
    let rest = this.totals[this.parts[i]];
    let bound = 0;
    search.begin([i]);
    for (let [frontier, k, open] = [STEP, 0, true]; open; frontier += STEP) {
      open = search.expand(frontier);
      for (; k < search.settled; k++) {
        const j = search.order[k];
        rest -= measure[j];
        count(j, measure[j] * weight(search.dist[j]));
      }
      bound = open ? rest * weight(frontier + 1) : 0;
      if (bound <= LEFT * known) break;
    }
    search.clear();
    return { known, rest: bound };
  }
}
