// SPDX-License-Identifier: Apache-2.0
// The device checks a map by itself, from its bytes alone: that every secret has its crowd at every level, and that reports
// keep to the distances on every edge. It believes no certificate, and its searches are its own (checker.js).

import { claimWords, factsOf, grouped } from "./claim.js";
import { GeoelasticError } from "./errors.js";
import { Elastic } from "./mechanism.js";
import { graphKey, LEVEL_UNITS } from "./metric.js";
import { README, requiredUnits, shortOf } from "./policy.js";
import { COARSE_SLACK } from "./schema.js";
import { Crew } from "./workers.js";

/**
 * S is summed exactly to here, and bounded by groups of neighbours to there: on large maps the rest is 0.2 % of S. It is to be less
 * where edges give up less for what heights are not exact.
 */
const NEAR = 11 * LEVEL_UNITS;
const FAR = 14 * LEVEL_UNITS;
const FARTHER = 2 * LEVEL_UNITS;
const TOGETHER = 128;
const BALLS_A_TASK = 256;
/** A sum over one location costs about four balls, and one over the whole map as much as a group's. */
const SUM_SIZE = 4;
const MOST_LOCATIONS = 2 ** 20;
/**
 * Sums have at most 2^20 terms of one sign, each product and sum rounded by 2^-53 at most: relative error below 2^-32. Two
 * sums, a logarithm's few units in the last place and the products around them stay far below this, which is 10^-4 units.
 */
const MARGIN = 2 ** -27;
/** No two sums that are not 0 differ by a factor of e^100: growth beyond this decides nothing, and infinity times 0 is no number. */
const LONG = 600;

/**
 * Check a map: the bytes of a `.geox` file, or a mechanism. Resolves to what it found, {ok, claim, facts, faults, short}: the
 * claim in plain words and as data, what does not hold, and in what it is less than the policy `require` (default: what the
 * README promises; null: it is enough if the map holds what it states itself). Rejects with a GeoelasticError if the bytes are
 * not a map ("file") or the check was stopped ("stopped").
 * progress(part): from 0 to 1. signal: an AbortSignal. workers: how many (default: the device's cores). store: get(key) and
 * set(key, value), where claims are remembered by the digest of the bytes (default: localStorage). spawn: what makes a worker.
 */
export async function verify(given, { require = README, progress = () => undefined, signal, workers, store = resultStore(), spawn } = {}) {
  const options = { require, progress, signal, workers, spawn };
  if (given instanceof Elastic) return check(given, options);
  const bytes = given instanceof Uint8Array ? given : new Uint8Array(given);
  const policy = await digestOf(new TextEncoder().encode(JSON.stringify(require)));
  const key = `geoelastic.verified.2.${await digestOf(bytes)}.${policy.slice(0, 16)}`;
  const known = await store.get(key);
  if (known !== undefined) return known;
  const result = await check(await Elastic.fromBytes(bytes), options);
  await store.set(key, result);
  return result;
}

async function digestOf(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Where a browser keeps claims; nowhere, if it may not. */
function resultStore() {
  const kept = () => globalThis.localStorage;
  return {
    get: (key) => quietly(() => JSON.parse(kept().getItem(key)) ?? undefined),
    set: (key, value) => quietly(() => kept().setItem(key, JSON.stringify(value))),
  };
}

function quietly(action) {
  try {
    return action();
  } catch {
    return undefined; // no storage, or none for this page
  }
}

async function check(mechanism, { require, progress, signal, workers, spawn }) {
  const { metric } = mechanism;
  if (metric.n > MOST_LOCATIONS) throw new GeoelasticError("input", `maps of more than ${MOST_LOCATIONS} locations cannot be checked on a device`);
  const secrets = [];
  const outside = [];
  for (let i = 0; i < metric.n; i++) {
    if (metric.fence[i] > 0) continue;
    outside.push(i);
    if (metric.isSecret(i)) secrets.push(i);
  }
  const map = mapOf(mechanism);
  const crew = await Crew.over(map, { workers, spawn });
  try {
    const work = secrets.length + (map.sharpened ? SUM_SIZE * outside.length : 0);
    let finished = 0;
    const done = (size) => progress(Math.min(1, (finished += size) / Math.max(1, work)));
    const balls = await crew.all(parts(secrets, BALLS_A_TASK, (part) => ({ kind: "balls", given: [part], size: part.length })), { done, signal });
    const edges = map.sharpened ? await checkEdges(mechanism, crew, outside, { done, signal }) : { checked: 0, over: 0, worst: 0 };
    const checked = {
      graph: await graphKey(metric), short: balls.reduce((sum, part) => sum + part.short, 0), least: balls.reduce((least, part) => Math.min(least, part.least), Infinity), edges,
    };
    return resultOf(mechanism, checked, require);
  } finally {
    crew.end();
  }
}

function resultOf({ metric, weights }, { graph, short: without, least, edges }, require) {
  const facts = factsOf(metric);
  const faults = [];
  if (facts.secrets === 0) faults.push("no place can be a secret");
  if (without > 0) faults.push(`${grouped(without)} places have not the crowd that is required`);
  if (crossings(metric) > 0) faults.push("a fence is not closed");
  if (!weightsHold(weights, facts.sharpened ? 1n : 2n)) faults.push("the weights of reports fall too fast");
  const stated = metric.head.certificate.graph_sha256;
  if (stated !== undefined && stated !== graph) faults.push("the graph is not the one that its certificate is about");
  if (edges.over > 0) faults.push(`reports may tell more than the length of an edge on ${grouped(edges.over)} of them`);
  const short = shortOf(require ?? README, facts, metric.head);
  const required = require !== null;
  return {
    ok: faults.length === 0 && (short.length === 0 || !required), claim: claimWords(facts, { faults, short, required }), facts, faults, short,
    least_ratio: Number.isFinite(least) ? least : null, edges: edges.checked, worst_edge: edges.worst,
  };
}

function parts(sources, size, task) {
  return Array.from({ length: Math.ceil(sources.length / size) }, (_, k) => task(Int32Array.from(sources.slice(k * size, (k + 1) * size))));
}

/** All that the checker needs of a mechanism, as plain arrays. */
export function mapOf(mechanism) {
  const { metric, weights } = mechanism;
  const { start, index, weight } = metric.graph;
  const sharpened = metric.height !== undefined;
  const more = sharpened && metric.slack > COARSE_SLACK ? FARTHER : 0;
  return {
    start, index, weight, low: mechanism.graph.weight, mass: metric.mass, measure: metric.measure, weights, sharpened, near: NEAR + more,
    outside: metric.measure.reduce((sum, share, i) => sum + (metric.fence[i] > 0 ? 0 : share), 0),
    table: requiredUnits(metric.head),
    fall: sharpened ? Float64Array.from({ length: FAR + more + 1 }, (_, d) => weights[d % weights.length] * 2 ** -Math.floor(d / weights.length)) : new Float64Array(1),
  };
}

/** Edges that leave a fence, or have some length inside one. */
function crossings({ graph: { start, index, weight }, fence }) {
  let count = 0;
  for (let i = 0; i < fence.length; i++) {
    for (let a = start[i]; a < start[i + 1]; a++) {
      if (fence[i] !== fence[index[a]] || (fence[i] > 0 && weight[a] > 0)) count++;
    }
  }
  return count / 2;
}

/** Whether w never rises and falls by at most 1 + x + x²/2 < e^x a unit, x = 2^-13 / part: in whole numbers, without rounding. */
function weightsHold(weights, part) {
  const b = part << 13n;
  const step = 2n * b * b + 2n * b + 1n;
  return weights.length > 0 && weights.every((value, k) => {
    // after the last comes half of the first
    const next = k + 1 < weights.length ? BigInt(weights[k + 1]) : BigInt(weights[0]) / 2n;
    return next > 0n && BigInt(value) >= next && BigInt(value) * 2n * b * b <= next * step;
  });
}

/**
 * w'(e) + |ln S(x) - ln S(y)| <= w(e) on every edge, with S = inner + R, R in [0, beyond], and R(x) <= e^w' R(y): the largest
 * S(x) / S(y) that these allow. Where that does not decide it, S is summed over the whole map.
 */
async function checkEdges(mechanism, crew, sources, { done, signal }) {
  const { metric, graph, weights } = mechanism;
  const sums = { inner: new Float64Array(metric.n), beyond: new Float64Array(metric.n) };
  await sumAt(sources, sums, crew, { done, signal });
  const { index, weight } = metric.graph;
  const { checked, worst, over: doubtful } = usedEdges(mechanism, sources, sums);
  const exact = new Map();
  const result = { checked, over: 0, worst };
  while (doubtful.length > 0 && result.over === 0) {
    const now = doubtful.splice(0, TOGETHER);
    const ends = [...new Set(now.flatMap(([i, a]) => [i, index[a]]))].filter((i) => !exact.has(i));
    const found = await crew.all(parts(ends, 4, (part) => ({ kind: "whole", given: [part, weights], size: 0 })), { done, signal });
    found.flatMap((part) => [...part]).forEach((sum, k) => exact.set(ends[k], sum));
    for (const [i, a] of now) {
      const share = usedUnits(graph.weight[a], exact.get(i), exact.get(index[a]), 0, 0) / weight[a];
      result.worst = Math.max(result.worst, share);
      if (!(share <= 1)) result.over++;
    }
  }
  return result;
}

/** Fill in `inner` and `beyond` at the sources. */
export async function sumAt(sources, { inner, beyond }, crew, { done, signal }) {
  const sums = await crew.all(parts(sources, TOGETHER, (part) => ({ kind: "totals", given: [part], size: SUM_SIZE * part.length })), { done, signal });
  sums.forEach((part, k) => part.inner.forEach((sum, j) => {
    inner[sources[k * TOGETHER + j]] = sum;
    beyond[sources[k * TOGETHER + j]] = part.beyond[j];
  }));
}

/** The arcs [from, number] of these sources that may be over, the largest share of the others, and how many edges were looked at. */
export function usedEdges({ metric, graph }, sources, { inner, beyond }) {
  const { start, index, weight } = metric.graph;
  const over = [];
  let arcs = 0;
  let worst = 0;
  for (const i of sources) {
    for (let a = start[i]; a < start[i + 1]; a++) {
      // ends at distance 0 are so in w' too: all their distances are the same
      if (weight[a] === 0) continue;
      arcs++;
      const j = index[a];
      const share = usedUnits(graph.weight[a], inner[i], inner[j], beyond[i], beyond[j]) / weight[a];
      if (share <= 1) worst = Math.max(worst, share);
      else over.push([i, a]);
    }
  }
  return { checked: arcs / 2, worst, over };
}

/** w' + ln of the largest S(x) / S(y), in level units, rounded up. */
function usedUnits(low, sx, sy, rx, ry) {
  return low + LEVEL_UNITS * Math.log(largestRatio(sx, sy, rx, ry, Math.exp(Math.min(low / LEVEL_UNITS, LONG))) * (1 + MARGIN));
}

/** The largest (sx + min(e R, rx)) / (sy + R) with 0 <= R <= ry: it rises and falls at most once, at R = rx / e. */
function largestRatio(sx, sy, rx, ry, e) {
  const at = (rest) => (sx + Math.min(e * rest, rx)) / (sy + rest);
  return Math.max(at(0), at(ry), at(Math.min(rx / e, ry)));
}
