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
/** Who is off by less units stands; each round looks closer. */
const FIRST_TOLERANCE = 6;
/**
 * How far heights are found again from what a fence changed, and around edges that are over in spite of that: within the first
 * distance they go to ln S, from the second on to where they were, moved by what ln S moves, in between step by step from the one to
 * the other. Beyond the last they stay: S hardly changes there, and if it does `verify` says so.
 */
const AROUND_FENCE = { core: [2, 5], look: 6 };
const AROUND_EDGES = { core: [1, 3], look: 3 };
/** R lies between 0 and its bound; this part of it is close, and smooth is all that counts here. */
const LIKELY_REST = 0.6;

/**
 * The mechanism with heights, certified on every edge. begin: heights to begin with, one per location (default: those that
 * `carveFence` left with the metric, around whose fence it looks first, or flat ones). progress, signal, workers, spawn: as in
 * `verify`. Rejects if the heights
 * do not settle, or it was stopped.
 */
export async function sharpen(mechanism, { begin, progress = () => undefined, signal, workers, spawn } = {}) {
  const { metric } = mechanism;
  const first = begin ?? metric.heightBefore ?? new Float64Array(metric.n);
  const heights = Float64Array.from(first, Math.round);
  const outside = Int32Array.from({ length: metric.n }, (_, i) => i).filter((i) => metric.fence[i] === 0);
  const touched = begin === undefined && metric.heightBefore !== undefined ? metric.touched : undefined;
  let tried = await raised(metric, heights);
  const crew = await Crew.over(mapOf(tried), { workers, spawn });
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const options = { touched: round === 0 ? touched : undefined, tolerance: FIRST_TOLERANCE / 2 ** round, signal };
      await settleHeights(tried, heights, outside, crew, options);
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

/** Move heights towards ln S around the places that were touched, or else around the edges that are over, until no edge there is over. */
async function settleHeights({ metric }, heights, outside, crew, { touched, tolerance, signal }) {
  const sums = { inner: new Float64Array(metric.n), beyond: new Float64Array(metric.n) };
  const aim = (i) => LEVEL_UNITS * Math.log(sums.inner[i] + LIKELY_REST * sums.beyond[i]);
  let sources = touched ? close(outside, awayFrom(metric, touched, AROUND_FENCE.look)) : outside;
  let above = null;
  for (let pass = 0; pass < PASSES && sources.length > 0; pass++) {
    const tried = await raised(metric, heights);
    await crew.each("lower", tried.graph.weight);
    await sumAt(sources, sums, crew, { done: () => undefined, signal });
    // an edge to a place that was not summed says nothing
    const over = usedEdges(tried, sources, sums).over.filter(([, a]) => sums.inner[metric.graph.index[a]] > 0);
    if (over.length === 0) return;
    if (above === null) {
      const { core, look } = touched ? AROUND_FENCE : AROUND_EDGES;
      const away = awayFrom(metric, touched ?? over.map(([i]) => i), look);
      sources = close(sources, away);
      above = offsets(sources, (i) => heights[i] - aim(i), away, core);
    }
    const moved = sources.filter((i) => Math.abs(aim(i) + above.get(i) - heights[i]) > tolerance);
    for (const i of sources) heights[i] = Math.round(heights[i] + PART_OF_WAY * (aim(i) + above.get(i) - heights[i]));
    sources = widened(metric, moved).filter((i) => above.has(i));
  }
}

/** What heights are to be above ln S: the same in the core, what they are above it now from there on. Only differences count. */
function offsets(places, now, away, [from, to]) {
  const middle = median(Float64Array.from(places, now));
  const own = (i) => Math.min(1, Math.max(0, (away[i] / LEVEL_UNITS - from) / (to - from)));
  return new Map(Array.from(places, (i) => [i, own(i) * now(i) + (1 - own(i)) * middle]));
}

function median(values) {
  return values.sort()[values.length >> 1];
}

/** The distance of each location from the nearest of these; infinite beyond so many levels. */
function awayFrom({ search, n }, places, levels) {
  search.begin(new Set(places));
  search.expand(levels * LEVEL_UNITS, levels * LEVEL_UNITS);
  const away = Float64Array.from({ length: n }, (_, i) => (search.dist[i] <= levels * LEVEL_UNITS ? search.dist[i] : Infinity));
  search.clear();
  return away;
}

function close(places, away) {
  return places.filter((i) => away[i] < Infinity);
}

/** These locations and their neighbours. */
function widened({ graph: { start, index }, fence }, sources) {
  const near = new Set(sources);
  for (const i of sources) for (let a = start[i]; a < start[i + 1]; a++) if (fence[index[a]] === 0) near.add(index[a]);
  return Int32Array.from(near).sort();
}
