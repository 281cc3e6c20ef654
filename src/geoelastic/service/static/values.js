// SPDX-License-Identifier: Apache-2.0
// Values of all locations for the layers. What takes long is computed at some places only, little by little.

import { LEVEL_UNITS, MASS_UNITS } from "../client/metric.js";
import { requiredMass } from "../client/requirement.js";
import { pixel, shade } from "./field.js";
import { densityWords, metres } from "./words.js";

const SAMPLES = { error: 18, slack: 48 };
const PROBES = 12;
const SLICE_MS = 40;

const LEGENDS = {
  mass: "Where the crowds are", error: "How far off reports are", slack: "Crowd to spare", fences: "A fence: all of it is one place",
  frame: "The border: nobody can hide here",
};
const SIGNS = { fences: [200, 40, 60], frame: [120, 120, 130] };

/** Colours of a layer and its legend; `paint` is called again while more becomes known, `stopped` says when to give up. */
export async function colourLayer(kind, mechanism, paint, stopped) {
  const { metric } = mechanism;
  const title = LEGENDS[kind];
  if (kind === "none") return paint(null, null);
  if (kind === "mass") return paint(...massColours(metric, title, 200));
  if (Object.hasOwn(SIGNS, kind)) return paint(signed(metric, kind), { title, colour: `rgb(${SIGNS[kind].join(" ")})` });
  const values = new Float64Array(metric.n).fill(NaN);
  const valueAt = kind === "error" ? (i) => mechanism.spread(i).meanM : (i) => meanRatio(metric, i);
  const label = kind === "error" ? metres : (r) => `${r.toPrecision(3)} × what is needed`;
  let begun = performance.now();
  for (const block of blocks(metric, SAMPLES[kind])) {
    const value = valueAt(block.centre);
    for (const i of block.members) values[i] = value;
    if (performance.now() - begun > SLICE_MS) {
      paint(...scaled(values, title, label));
      await new Promise((resolve) => setTimeout(resolve));
      if (stopped()) return undefined;
      begun = performance.now();
    }
  }
  return paint(...scaled(values, title, label));
}

/** The locations of fences, or of the frame, over a pale picture of the crowds. */
function signed(metric, kind) {
  const [pale] = massColours(metric, "", 60);
  const on = kind === "fences" ? (i) => metric.fence[i] > 0 : (i) => !metric.isSecret(i);
  const colour = pixel(...SIGNS[kind], 215);
  return Uint32Array.from({ length: metric.n }, (_, i) => (on(i) ? colour : pale?.[i] ?? 0));
}

function massColours(metric, title, alpha) {
  const density = Float64Array.from(metric.mass, (mass, i) => mass / MASS_UNITS / metric.leaves.size[i] ** 2);
  return scaled(density, title, (value) => densityWords(metric, value), alpha);
}

/** Colours on a logarithmic scale from the 2nd to the 98th percentile of what is known. */
function scaled(values, title, label, alpha = 200) {
  const known = values.filter((value) => value > 0).sort();
  if (known.length === 0) return [null, null];
  const low = Math.log(known[Math.floor(0.02 * known.length)]);
  const high = Math.max(low + 1e-9, Math.log(known[Math.floor(0.98 * (known.length - 1))]));
  const colours = Uint32Array.from(values, (value) => (value > 0 ? shade((Math.log(value) - low) / (high - low), alpha) : 0));
  return [colours, { title, low: label(Math.exp(low)), high: label(Math.exp(high)) }];
}

/** Squares of the map, each with the secret location in its middle; from the middle of the map outwards. */
function blocks(metric, across) {
  const side = Math.max(1, Math.ceil(Math.max(metric.rows, metric.cols) / across));
  const found = new Map();
  const { row, col, size } = metric.leaves;
  for (let i = 0; i < metric.n; i++) {
    if (metric.fence[i] > 0) continue;
    const [r, c] = [Math.floor((row[i] + size[i] / 2) / side), Math.floor((col[i] + size[i] / 2) / side)];
    const key = r * 65536 + c;
    if (!found.has(key)) found.set(key, { members: [], centre: -1, away: Infinity, r, c });
    const block = found.get(key);
    block.members.push(i);
    const away = Math.hypot(row[i] + size[i] / 2 - (r + 0.5) * side, col[i] + size[i] / 2 - (c + 0.5) * side);
    if (away < block.away && metric.isSecret(i)) Object.assign(block, { centre: i, away });
  }
  const middle = [metric.rows / side / 2, metric.cols / side / 2];
  const distance = ({ r, c }) => Math.hypot(r - middle[0], c - middle[1]);
  return [...found.values()].filter(({ centre }) => centre >= 0).sort((a, b) => distance(a) - distance(b));
}

/** Mean over levels of what a ball holds against what it must. */
function meanRatio(metric, i) {
  const { l_from: from, l_top: top, requirement } = metric.head;
  const { search } = metric;
  const limit = Math.floor(top * LEVEL_UNITS);
  search.begin([i]);
  search.expand(limit, limit);
  let sum = 0;
  let inside = 0;
  let k = 0;
  for (let probe = 0; probe < PROBES; probe++) {
    const low = Math.max(from, top / 5);
    const level = low + ((top - low) * probe) / (PROBES - 1);
    while (k < search.settled && search.dist[search.order[k]] <= level * LEVEL_UNITS) inside += metric.mass[search.order[k++]];
    sum += inside / MASS_UNITS / requiredMass(requirement, level);
  }
  search.clear();
  return sum / PROBES;
}
