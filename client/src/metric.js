// SPDX-License-Identifier: Apache-2.0
// A metric on the device: where a place is, how far others are, what a ball holds.

import { GeoelasticError } from "./errors.js";
import { readPortable } from "./format.js";
import { components, conformalGraph, edgeGraph, loweredGraph, raisedGraph, Search, UNREACHABLE } from "./graph.js";
import { findLeaf, lengthsBetween, neighbourGraph, paintOwner, touchingLeaves, uniformLeaves, unpackLeaves } from "./layout.js";
import { Projection } from "./projection.js";
import { COARSE_SLACK, requireRises, requireSpread, requireWeights } from "./schema.js";

export const LEVEL_UNITS = 8192;
export const MASS_UNITS = 2 ** 32;

/** The bytes at an address. Nothing is sent with the request. */
export async function fetchBytes(url) {
  const answer = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer" });
  if (!answer.ok) throw new GeoelasticError("file", `the metric cannot be loaded: the server answered ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** A digest of all that heights depend on: graph, masses and fences, as whole numbers of 32 and 64 bits, little-endian. */
export function reliefKey({ graph: { start, index, weight }, mass, fence }) {
  return wordsDigest([[start, 8], [index, 4], [weight, 4], [mass, 8], [fence, 4]]);
}

/** The digest that a certificate names its graph by: every edge once (tails, tips, lengths), those that tie fences together, masses, fences. */
export function graphKey({ graph: { start, index, weight }, mass, fence }) {
  const edges = [[], [], []];
  for (let i = 0; i + 1 < start.length; i++) {
    for (let a = start[i]; a < start[i + 1]; a++) {
      if (i < index[a]) [i, index[a], weight[a]].forEach((value, k) => edges[k].push(value));
    }
  }
  const inside = Array.from(fence.keys()).filter((i) => fence[i] > 0).sort((a, b) => fence[a] - fence[b] || a - b);
  for (let k = 1; k < inside.length; k++) {
    if (fence[inside[k - 1]] === fence[inside[k]]) [inside[k - 1], inside[k], 0].forEach((value, part) => edges[part].push(value));
  }
  return wordsDigest([...edges, mass, fence].map((values) => [values, 8]));
}

/** SHA-256 of arrays of whole numbers >= 0, each with its number of bytes, in hexadecimal digits. */
async function wordsDigest(parts) {
  const view = new DataView(new ArrayBuffer(parts.reduce((sum, [values, width]) => sum + width * values.length, 0)));
  let at = 0;
  for (const [values, width] of parts) {
    for (let k = 0; k < values.length; k++, at += width) {
      view.setUint32(at, values[k] % 2 ** 32, true);
      if (width === 8) view.setUint32(at + 4, Math.floor(values[k] / 2 ** 32), true);
    }
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", view.buffer));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Metric {
  /** The metric in the bytes of a `.geox` file. */
  static async fromBytes(bytes) {
    const { head, arrays } = await readPortable(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes));
    const { rows, cols } = head.grid;
    const leaves = head.layout === "adaptive" ? unpackLeaves(rows, cols, arrays.exponent) : uniformLeaves(rows, cols);
    const n = leaves.row.length;
    const place = arrays.place_east && { east: arrays.place_east, north: arrays.place_north };
    const edges = arrays.edge_i && { i: arrays.edge_i, j: arrays.edge_j, level: arrays.edge_level };
    const metric = new Metric({
      head, leaves, edges, mass: arrays.mass, measure: arrays.measure, scale: arrays.scale, place, rise: arrays.edge_rise, height: arrays.height,
      fence: Int32Array.from(arrays.fence ?? new Int32Array(n)), framed: Uint8Array.from(arrays.framed ?? new Uint8Array(n)),
    });
    if (metric.height !== undefined && head.relief.made_for !== (await reliefKey(metric))) {
      throw new GeoelasticError("file", "the heights were made for another map");
    }
    return metric;
  }

  /** The metric at an address. */
  static async fetch(url) {
    return Metric.fromBytes(await fetchBytes(url));
  }

  /** `graph`: that of a metric which this device has made and checked before, so that it opens at once (`ready`); it cannot be carved. */
  constructor({ head, leaves, edges, mass, measure, scale, place, rise, height, fence, framed, graph }) {
    Object.assign(this, { head, leaves, edges, mass, measure, scale, place, rise, height, fence, framed, graph });
    const { rows, cols, cell_m: cellM, lat, lon, east_m: eastM, north_m: northM } = head.grid;
    Object.assign(this, { rows, cols, cellM, n: mass.length });
    this.projection = new Projection(lat, lon, eastM, northM);
    if (graph === undefined) this.#makeGraph();
  }

  #makeGraph() {
    const { rows, cols, leaves, edges, scale, place, rise, fence } = this;
    if (scale === undefined) {
      this.graph = edgeGraph(this.n, edges.i, edges.j, edges.level);
    } else {
      this.touching = touchingLeaves(rows, cols, this.owner, leaves);
      this.neighbours = neighbourGraph(leaves, this.touching, fence);
      if (place !== undefined) this.neighbours.length = lengthsBetween(this.neighbours, place);
      const conformal = conformalGraph(this.neighbours, scale);
      requireWeights(conformal);
      requireRises(rise, conformal);
      this.graph = raisedGraph(conformal, rise);
    }
    requireWeights(this.graph);
    requireSpread(this.#fromFirsts());
  }

  /** How far each location is from the first one of its connected part, in level units. */
  #fromFirsts() {
    const seen = new Set();
    const firsts = [];
    components(this.graph).forEach((part, i) => {
      if (!seen.has(part)) firsts.push(i);
      seen.add(part);
    });
    this.search.begin(firsts);
    this.search.expand(UNREACHABLE - 1);
    const distances = this.search.dist.slice();
    this.search.clear();
    return distances;
  }

  /** All that reports are drawn from, as plain data: what `new Metric` takes, without what it would have to compute. */
  ready() {
    const { head, leaves, mass, measure, height, fence, framed, graph } = this;
    return { head, leaves, mass, measure, height, fence, framed, graph };
  }

  /** The graph by whose distances reports are drawn: the lowered one of a sharpened file. */
  get reportGraph() {
    return this.height === undefined ? this.graph : loweredGraph(this.graph, this.height, this.slack);
  }

  /** Which part of an edge is given up for what heights are not exact: a 2^slack-th. */
  get slack() {
    return this.head.relief?.slack ?? COARSE_SLACK;
  }

  get lTop() {
    return this.head.l_top;
  }

  /** Whether a location may be a secret, i.e. lies outside the frame. */
  isSecret(i) {
    const margin = this.head.frame_cells;
    const { row, col, size } = this.leaves;
    const inside = row[i] >= margin && col[i] >= margin && row[i] + size[i] <= this.rows - margin;
    return inside && col[i] + size[i] <= this.cols - margin && this.framed[i] === 0;
  }

  /** [row, col] of a place, or null outside the map. */
  cellOf(lat, lon) {
    if (!(lat >= -90 && lat <= 90 && lon >= -360 && lon <= 360)) {
      throw new GeoelasticError("input", "a place must be (lat, lon) in degrees");
    }
    const [x, y] = this.projection.toXY(lat, lon);
    const col = Math.floor(x / this.cellM + this.cols / 2);
    const row = Math.floor(y / this.cellM + this.rows / 2);
    return row >= 0 && row < this.rows && col >= 0 && col < this.cols ? [row, col] : null;
  }

  /** The location of every cell: made when it is first needed, since it is by far the largest array of a map of large locations. */
  get owner() {
    this._owner ??= paintOwner(this.rows, this.cols, this.leaves);
    return this._owner;
  }

  /** The location of a cell; a map that is only reported from is looked through, which takes a millisecond or two. */
  leafAt([row, col]) {
    return this._owner ? this._owner[row * this.cols + col] : findLeaf(this.leaves, row, col);
  }

  /** The location of a place. */
  locate(lat, lon) {
    const cell = this.cellOf(lat, lon);
    if (cell === null) throw new GeoelasticError("outside", "the place is outside the map");
    return this.leafAt(cell);
  }

  /** The location of a place that is to be hidden. */
  locateSecret(lat, lon) {
    const i = this.locate(lat, lon);
    if (!this.isSecret(i)) throw new GeoelasticError("frame", "the place is in the map's frame: it cannot be hidden there");
    return i;
  }

  /** Metres of the centre of a location. */
  xy(i) {
    const { row, col, size } = this.leaves;
    return [(col[i] + size[i] / 2 - this.cols / 2) * this.cellM, (row[i] + size[i] / 2 - this.rows / 2) * this.cellM];
  }

  /** [lat, lon] of the centre of a cell. */
  cellToLatLon(row, col) {
    return this.projection.toLatLon((col + 0.5 - this.cols / 2) * this.cellM, (row + 0.5 - this.rows / 2) * this.cellM);
  }

  /** [lat, lon] of the corners of a location, from the south-west against the clock. */
  outline(i) {
    const { row, col, size } = this.leaves;
    const [r, c, s] = [row[i], col[i], size[i]];
    return [[r, c], [r, c + s], [r + s, c + s], [r + s, c]].map(([a, b]) => this.cellToLatLon(a - 0.5, b - 0.5));
  }

  get search() {
    this._search ??= new Search(this.graph);
    return this._search;
  }

  /** Level units from a location to every other, UNREACHABLE beyond `limit` units; by another `search` if given. */
  distanceUnits(i, limit = UNREACHABLE - 1, search = this.search) {
    if (this.fence[i] > 0) return this.fence.map((k) => (k === this.fence[i] ? 0 : UNREACHABLE));
    search.begin([i]);
    search.expand(limit, limit);
    const distances = search.dist.slice();
    search.clear();
    return distances;
  }

  /** The locations within `level` of location i, and their mass (without unit 1 = the crowd of a city disc). */
  ball(i, level) {
    const limit = Math.floor(level * LEVEL_UNITS);
    const units = this.distanceUnits(i, limit);
    const members = [];
    let mass = 0;
    let cells = 0;
    for (let j = 0; j < this.n; j++) {
      if (units[j] > limit) continue;
      members.push(j);
      mass += this.mass[j];
      cells += this.leaves.size[j] ** 2;
    }
    return { members, mass: mass / MASS_UNITS, cells, areaKm2: (cells * this.cellM ** 2) / 1e6 };
  }
}
