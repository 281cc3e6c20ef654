// SPDX-License-Identifier: Apache-2.0
// A map that was carved on the device is sharpened again there: heights as they were, moved where the fence changed something
// until reports keep to the length of every edge. How they are found does not matter: `verify` has the last word.

import { GeoelasticError } from "./errors.js";
import { Elastic } from "./mechanism.js";
import { LEVEL_UNITS, Metric, reliefKey } from "./metric.js";
import { mapOf, sumAt, usedEdges, verify } from "./verify.js";
import { Crew } from "./workers.js";

/** Heights go this part of the way to ln S in a pass: all of it would overshoot. */
const PART_OF_WAY = 0.7;
const PASSES = 12;
const ROUNDS = 4;
/** What is off by less units is left alone at first; each round looks closer. */
const FIRST_TOLERANCE = 6;
const REACH = 3 * LEVEL_UNITS;
/** R lies between 0 and its bound; this part of it is close, and smooth is all that counts here. */
const LIKELY_REST = 0.6;

/**
 * The mechanism with heights, certified on every edge. begin: heights to begin with, one per location (default: those that
 * `carveFence` left with the metric, or flat ones). progress, signal, workers, spawn: as in `verify`. Rejects if the heights
 * do not settle, or it was stopped.
 */
export async function sharpen(mechanism, { begin, progress = () => undefined, signal, workers, spawn } = {}) {
  const { metric } = mechanism;
  const first = begin ?? metric.heightBefore ?? new Float64Array(metric.n);
  const heights = Float64Array.from(first, Math.round);
  const outside = Int32Array.from({ length: metric.n }, (_, i) => i).filter((i) => metric.fence[i] === 0);
  let tried = await raised(metric, heights);
  const crew = await Crew.over(mapOf(tried), { workers, spawn });
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await settleHeights(tried, heights, outside, crew, { tolerance: FIRST_TOLERANCE / 2 ** round, signal });
      progress((round + 0.5) / ROUNDS);
      tried = await raised(metric, heights);
      const { ok } = await verify(tried, { require: null, signal, workers, spawn });
      if (ok) return tried;
    }
  } finally {
    crew.end();
  }
  throw new GeoelasticError("input", "the heights did not settle: reports stay by half of each distance");
}

/** The same map with these heights. */
async function raised(metric, heights) {
  const least = heights.reduce((low, height) => Math.min(low, height), Infinity);
  const height = heights.map((value) => value - least);
  const { fence, framed, leaves, edges, mass, measure, scale, place, rise } = metric;
  const relief = { output: metric.head.output, made_for: await reliefKey(metric), certificate: {} };
  return new Elastic(new Metric({ head: { ...metric.head, exponent: [1, 1], relief }, leaves, edges, mass, measure, scale, place, rise, height, fence, framed }));
}

/** Move heights towards ln S where they are off, until no edge there is over. */
async function settleHeights({ metric }, heights, outside, crew, { tolerance, signal }) {
  const sums = { inner: new Float64Array(metric.n), beyond: new Float64Array(metric.n) };
  const options = { done: () => undefined, signal };
  const aim = (i) => LEVEL_UNITS * Math.log(sums.inner[i] + LIKELY_REST * sums.beyond[i]);
  let sources = outside;
  let level = null;
  for (let pass = 0; pass < PASSES; pass++) {
    const tried = await raised(metric, heights);
    await crew.each("lower", tried.graph.weight);
    await sumAt(sources, sums, crew, options);
    const { over } = usedEdges(tried, sources, sums);
    if (over.length === 0) return;
    // only differences count: what most of the map agrees on stays where it is
    level ??= median(Float64Array.from(outside, (i) => aim(i) - heights[i]));
    const off = (i) => aim(i) - level - heights[i];
    if (pass === 0) {
      const near = around(metric, over);
      sources = widened(metric, outside.filter((i) => near[i] === 1 && Math.abs(off(i)) > tolerance));
    }
    for (const i of sources) heights[i] = Math.round(heights[i] + PART_OF_WAY * off(i));
  }
}

function median(values) {
  return values.sort()[values.length >> 1];
}

/** 1 for each location within REACH of an edge that is over: further off, heights that held before still do. */
function around({ search, n }, over) {
  search.begin(new Set(over.map(([i]) => i)));
  search.expand(REACH, REACH);
  const near = Uint8Array.from({ length: n }, (_, i) => (search.dist[i] <= REACH ? 1 : 0));
  search.clear();
  return near;
}

/** These locations and their neighbours. */
function widened({ graph: { start, index }, fence }, sources) {
  const near = new Set(sources);
  for (const i of sources) for (let a = start[i]; a < start[i + 1]; a++) if (fence[index[a]] === 0) near.add(index[a]);
  return Int32Array.from(near).sort();
}
