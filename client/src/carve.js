// SPDX-License-Identifier: Apache-2.0
// Fences drawn on the device and carved into the metric there: where somebody lives is nobody else's business.

import { GeoelasticError } from "./errors.js";
import { conformalGraph, pairs, raisedGraph, RISE_ONE, Search, UNREACHABLE } from "./graph.js";
import { Metric } from "./metric.js";
import { leastRatio, requirementTable } from "./requirement.js";

/** Downward moves as in metric/conformal.py: small steps leave less slack where balls overlap; each is at least 2^-11. */
const SHRINK = 0.25;
const MAX_SHRINK = 1 - 2 ** -11;

/**
 * The metric with a fence carved in, repaired around it and checked: {metric, cells, checked, changed}.
 * ring: corners as [lat, lon] in degrees, in order along the fence in either direction; a last one that repeats the first
 * changes nothing. Exact to the cell: a leaf that the fence cuts is split, and the part outside counts for nothing, since how its mass lies
 * within it is not known here.
 */
export function carveFence(metric, ring) {
  if (metric.scale === undefined) throw new GeoelasticError("input", "fences can be drawn into conformal metrics only");
  const isCorner = (corner) => Math.abs(corner?.[0]) <= 90 && Math.abs(corner?.[1]) <= 360;
  if (!Array.isArray(ring) || ring.length < 3 || !ring.every(isCorner)) {
    throw new GeoelasticError("input", "a fence must be a list of at least three corners, [lat, lon] in degrees");
  }
  const { cells, count } = fenceCells(metric, ring);
  const { leaves, parent } = splitLeaves(metric.leaves, cells, metric.cols);
  const n = parent.length;
  const whole = (i) => leaves.size[i] === metric.leaves.size[parent[i]];
  const fence = Int32Array.from({ length: n }, (_, i) => cells[leaves.row[i] * metric.cols + leaves.col[i]]);
  const share = (i) => (leaves.size[i] / metric.leaves.size[parent[i]]) ** 2;
  const { relief, ...head } = metric.head;
  const carved = new Metric({
    head: {
      ...head,
      layout: "adaptive",
      sticky: `${metric.head.sticky}|fences ${fenceRuns(cells)}`,
      // heights belong to the map as it was, and an exponent to them: reports go by half of each distance again
      exponent: [1, 2],
      certificate: {}, // nor is it the graph that was certified
    },
    leaves,
    fence,
    mass: Float64Array.from({ length: n }, (_, i) => (whole(i) ? metric.mass[parent[i]] : 0)),
    measure: Float64Array.from({ length: n }, (_, i) => {
      const old = metric.measure[parent[i]];
      return whole(i) || old === 0 ? old : Math.max(1, Math.floor(old * share(i)));
    }),
    scale: Float64Array.from({ length: n }, (_, i) => metric.scale[parent[i]]),
    place: metric.place && placeParts(metric, leaves, parent),
    framed: Uint8Array.from({ length: n }, (_, i) => metric.framed[parent[i]]),
  });
  // a place to begin from, if the carved map is sharpened again; of a map that waits for that already, the same place
  const heights = metric.height ?? metric.heightBefore;
  if (heights !== undefined) carved.heightBefore = Float64Array.from(parent, (i) => heights[i]);
  const changed = new Set();
  for (let i = 0; i < n; i++) if (!whole(i) || fence[i] !== metric.fence[parent[i]]) changed.add(parent[i]);
  const near = nearTo(metric, changed);
  if (metric.rise !== undefined) {
    carved.rise = carriedRise(metric, carved, parent, near);
    carved.graph = raisedGraph(carved.graph, carved.rise);
    carved._search = undefined;
  }
  const affected = affectedBy(metric, near);
  const sources = [];
  for (let i = 0; i < n; i++) if (fence[i] === 0 && affected[parent[i]] && carved.isSecret(i)) sources.push(i);
  const before = carved.scale.slice();
  repairScales(carved, sources);
  const moved = carved.scale.map((value, i) => (value !== before[i] ? 1 : 0));
  // where sharpening has to look again: lengths changed here, or around a scale that moved
  const earlier = new Set(metric.touched);
  const isTouched = (i) => fence[i] === 0 && (moved[i] === 1 || near.has(parent[i]) || earlier.has(parent[i]));
  carved.touched = Int32Array.from(parent.keys()).filter(isTouched);
  return { metric: carved, cells: count, checked: sources.length, changed: moved.reduce((sum, one) => sum + one, 0) };
}

/** The fence of each cell, with the cells whose centre lies in the ring added; fences that touch are one. */
function fenceCells(metric, ring) {
  const { rows, cols, cellM } = metric;
  const points = ring.map(([lat, lon]) => metric.projection.toXY(lat, lon));
  const cells = Int32Array.from(metric.owner, (leaf) => metric.fence[leaf]);
  const number = cells.reduce((most, k) => Math.max(most, k), 0) + 1;
  const inside = [];
  const [low, high] = [0, 1].map((end) => points.map((p) => p[1] / cellM + rows / 2).reduce(end ? (a, b) => Math.max(a, b) : (a, b) => Math.min(a, b)));
  for (let r = Math.max(0, Math.floor(low)); r < Math.min(rows, Math.ceil(high)); r++) {
    const y = (r + 0.5 - rows / 2) * cellM;
    for (let c = 0; c < cols; c++) if (inRing(points, (c + 0.5 - cols / 2) * cellM, y)) inside.push(r * cols + c);
  }
  if (inside.length === 0) throw new GeoelasticError("input", "a fence must hold the centre of at least one cell of the map");
  const merged = new Set([number]);
  for (const cell of inside) {
    const [r, c] = [Math.floor(cell / cols), cell % cols];
    for (let a = Math.max(0, r - 1); a <= Math.min(rows - 1, r + 1); a++) {
      for (let b = Math.max(0, c - 1); b <= Math.min(cols - 1, c + 1); b++) {
        if (cells[a * cols + b] > 0) merged.add(cells[a * cols + b]);
      }
    }
  }
  for (const cell of inside) cells[cell] = number;
  const least = Math.min(...merged);
  for (let k = 0; k < cells.length; k++) if (merged.has(cells[k])) cells[k] = least;
  return { cells, count: inside.length };
}

/** Fences as text: other fences make another map, whose keyed reports must be independent. It stays on the device. */
function fenceRuns(cells) {
  const runs = [];
  for (let k = 0; k < cells.length; k++) {
    if (cells[k] > 0 && cells[k - 1] === cells[k]) runs[runs.length - 1][2]++;
    else if (cells[k] > 0) runs.push([cells[k], k, 1]);
  }
  return runs.join(";");
}

function inRing(points, x, y) {
  let inside = false;
  for (let k = 0, before = points.length - 1; k < points.length; before = k++) {
    const [x1, y1] = points[k];
    const [x0, y0] = points[before];
    if (y1 > y !== y0 > y && x < ((x0 - x1) * (y - y1)) / (y0 - y1) + x1) inside = !inside;
  }
  return inside;
}

/** Every leaf quartered until the fence is the same on all its cells, in Z-order; and each leaf's number before. */
function splitLeaves({ row, col, size }, cells, cols) {
  const out = { row: [], col: [], size: [] };
  const parent = [];
  const even = (r, c, s) => {
    const first = cells[r * cols + c];
    for (let a = r; a < r + s; a++) for (let b = c; b < c + s; b++) if (cells[a * cols + b] !== first) return false;
    return true;
  };
  const add = (r, c, s, i) => {
    if (s > 1 && !even(r, c, s)) {
      const half = s / 2;
      for (let q = 0; q < 4; q++) add(r + half * (q >> 1), c + half * (q & 1), half, i);
      return;
    }
    out.row.push(r);
    out.col.push(c);
    out.size.push(s);
    parent.push(i);
  };
  for (let i = 0; i < row.length; i++) add(row[i], col[i], size[i], i);
  return { leaves: { row: Int32Array.from(out.row), col: Int32Array.from(out.col), size: Int32Array.from(out.size) }, parent };
}

/** Places of the parts of leaves: around the place of the whole, as far from it as the ground around was stretched. */
function placeParts({ leaves: whole, place, touching: { start, index } }, parts, parent) {
  const east = Float64Array.from(parent, (i) => place.east[i]);
  const north = Float64Array.from(parent, (i) => place.north[i]);
  const middle = ({ row, col, size }, i) => [col[i] + size[i] / 2, row[i] + size[i] / 2];
  for (let part = 0; part < parent.length; part++) {
    const i = parent[part];
    if (parts.size[part] === whole.size[i]) continue;
    const [x, y] = middle(whole, i);
    const ratios = [];
    for (let a = start[i]; a < start[i + 1]; a++) {
      if (index[a] === i) continue;
      const [u, v] = middle(whole, index[a]);
      ratios.push(Math.hypot(place.east[index[a]] - place.east[i], place.north[index[a]] - place.north[i]) / Math.hypot(u - x, v - y));
    }
    const stretch = ratios.length > 0 ? ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length : 512;
    const [u, v] = middle(parts, part);
    east[part] += Math.floor((u - x) * stretch);
    north[part] += Math.floor((v - y) * stretch);
  }
  return { east, north };
}

/** What changed, and what lies so close that lengths there changed. */
function nearTo(metric, changed) {
  const near = new Set(changed);
  const { start, index } = metric.touching;
  for (let ring = 0; ring < 3; ring++) {
    for (const i of [...near]) for (let a = start[i]; a < start[i + 1]; a++) near.add(index[a]);
  }
  return near;
}

/**
 * The rises of a metric for the neighbours of one that is carved from it: what was no neighbour keeps its conformal weight, and
 * edges that had gone come back near the fence, as long as the distance between their ends was: what made them needless may be cut.
 */
function carriedRise(metric, carved, parent, near) {
  const before = new Map();
  let pair = 0;
  for (const [i, j] of pairs(metric.neighbours)) before.set(i * metric.n + j, metric.rise[pair++]);
  const full = conformalGraph(carved.neighbours, carved.scale).weight;
  const farthest = 2 * full.reduce((most, length) => Math.max(most, length), 0) + 1; // beyond it no rise is enough: the most is taken
  const whole = (i) => carved.leaves.size[i] === metric.leaves.size[parent[i]];
  const rise = [];
  let [from, distances] = [-1, null];
  for (const [i, j, arc] of pairs(carved.neighbours)) {
    const [a, b] = [Math.min(parent[i], parent[j]), Math.max(parent[i], parent[j])];
    let own = whole(i) && whole(j) ? before.get(a * metric.n + b) : undefined;
    if (own === 0 && (near.has(a) || near.has(b))) {
      if (from !== a) [from, distances] = [a, metric.distanceUnits(a, farthest)];
      own = Math.min(255, Math.max(1, Math.floor(((distances[b] + 1) * RISE_ONE - 1) / Math.max(full[arc], 1))));
    }
    rise.push(own ?? RISE_ONE);
  }
  return Float64Array.from(rise);
}

/** Locations whose ball up to l_top may have met what is near a change. */
function affectedBy(metric, near) {
  const { search } = metric;
  search.begin(near);
  const limit = Math.floor(metric.lTop * 8192);
  search.expand(limit, limit);
  const reached = Uint8Array.from(search.dist, (d) => (d === UNREACHABLE ? 0 : 1));
  search.clear();
  return reached;
}

/** Shrink scales around each source that falls short until none does. */
function repairScales(metric, sources) {
  const table = requirementTable(metric.head);
  const top = table.length - 1;
  let left = sources;
  while (left.length > 0) {
    const search = new Search(metric.graph);
    const factor = new Float64Array(metric.n).fill(1);
    const short = [];
    for (const source of left) {
      search.begin([source]);
      search.expand(top, top);
      const { least, level } = leastRatio(search, metric.mass, table);
      if (least < 1) {
        short.push(source);
        const shrink = Math.min(least ** SHRINK, MAX_SHRINK);
        for (let k = 0; k < search.settled && search.dist[search.order[k]] <= level + 1; k++) {
          factor[search.order[k]] = Math.min(factor[search.order[k]], shrink);
        }
      }
      search.clear();
    }
    if (short.length > 0 && metric.scale.every((value, i) => factor[i] === 1 || value === 0)) {
      throw new GeoelasticError("input", "the fence leaves too little crowd around it: draw it smaller, or somewhere else");
    }
    metric.scale = metric.scale.map((value, i) => Math.floor(value * factor[i]));
    metric.graph = raisedGraph(conformalGraph(metric.neighbours, metric.scale), metric.rise);
    left = short;
  }
  metric._search = undefined;
}
