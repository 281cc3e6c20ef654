// SPDX-License-Identifier: Apache-2.0
// The elastic mechanism on the device: a report for a place, exactly as Python draws it from the same bytes.

import { GeoelasticError } from "./errors.js";
import { components, Search, UNREACHABLE } from "./graph.js";
import { Metric } from "./metric.js";
import { SystemRandom, uniformBelow } from "./random.js";
import { Sampler } from "./sampler.js";
import { makeWeights } from "./weights.js";

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

  /** Mean distance in metres between the centre of location i and a report's location, and the radius of 95 % of reports. */
  spread(i) {
    const chance = this.probabilities(i);
    const [x, y] = this.metric.xy(i);
    const bins = new Float64Array(512);
    const width = (Math.hypot(this.metric.rows, this.metric.cols) * this.metric.cellM) / bins.length;
    let meanM = 0;
    for (let j = 0; j < chance.length; j++) {
      if (chance[j] === 0) continue;
      const [a, b] = this.metric.xy(j);
      const away = Math.hypot(a - x, b - y);
      meanM += chance[j] * away;
      bins[Math.min(bins.length - 1, Math.floor(away / width))] += chance[j];
    }
    let sum = 0;
    const last = bins.findIndex((part) => (sum += part) >= 0.95);
    return { meanM, radius95M: ((last < 0 ? bins.length - 1 : last) + 1) * width };
  }
}
