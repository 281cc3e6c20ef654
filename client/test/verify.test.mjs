// SPDX-License-Identifier: Apache-2.0
// The device's own check: what is right passes, what is wrong by a little does not, and its kernels agree with slow twins.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { makeChecker } from "../src/checker.js";
import { Elastic, GeoelasticError, README, verify } from "../src/index.js";
import { makeLanes } from "../src/lanes.js";
import { bytesOf, packed, SeededRandom, unpacked } from "./support.mjs";

const plain = bytesOf("town.geox");
const sharp = bytesOf("sharp.geox");
const nowhere = { get: () => undefined, set: () => undefined };
const checked = (bytes, options) => verify(bytes, { store: nowhere, ...options });
const changed = (bytes, change) => {
  const file = unpacked(bytes);
  change(file.arrays, file.head);
  return packed(file);
};
const faulty = async (bytes, fault) => {
  const { ok, faults } = await checked(bytes);
  assert.equal(ok, false);
  assert.match(faults.join("; "), fault);
};

test("our own maps hold", async () => {
  const { ok, faults, short, facts, least_ratio: least } = await checked(plain);
  assert.deepEqual([ok, faults, short, facts.secrets, facts.sharpened], [true, [], [], 1001, false]);
  assert.ok(least >= 1 && least < 1.01);
  const found = await checked(sharp);
  assert.deepEqual([found.ok, found.faults, found.facts.sharpened], [true, [], true]);
  assert.ok(found.worst_edge > 0.9 && found.worst_edge <= 1);
});

test("a mass that is missing, a scale that is too large, a requirement that asks for more: each is found", async () => {
  await faulty(changed(plain, ({ mass }) => mass.forEach((_, i) => (mass[i] = Math.floor(0.999 * mass[i])))), /crowd/);
  await faulty(changed(plain, ({ scale }) => scale.forEach((_, i) => (scale[i] = Math.floor(1.01 * scale[i])))), /crowd/);
  await faulty(changed(plain, (_, head) => (head.requirement.l_star *= 0.999)), /crowd/);
  await faulty(changed(plain, (_, head) => (head.frame_cells = 28)), /no place/);
});

test("what holds but promises little is not enough, unless that is what was asked", async () => {
  const loose = (change) => changed(plain, (arrays, head) => {
    head.certificate = {};
    change(head, arrays);
  });
  const cases = [
    [(head) => (head.requirement.l_star = 0.7), /at level [\d.]+ it asks for/],
    [(head) => (head.l_from = 0.5), /from level 0\.5 on, not from 0\.35/],
    [(head) => (head.l_top = 1.5), /up to level 1\.5, not up to 1\.792/],
    [(head) => (head.info.r_small_m = 100), /a disc of 100 m, not of 300 m/],
    [(head, { mass }) => mass.forEach((_, i) => (mass[i] *= 100)), /units of mass a square kilometre/],
  ];
  for (const [change, reason] of cases) {
    const bytes = loose(change);
    const { ok, faults, short, claim } = await checked(bytes);
    assert.deepEqual([ok, faults], [false, []]);
    assert.match(short.join("; "), reason);
    assert.match(claim, /^This map holds what it states, but that is less than is required/);
    assert.equal((await checked(bytes, { require: null })).ok, true);
  }
  assert.equal((await checked(plain, { require: { ...README, secrets: 1002 } })).ok, false);
});

/** The largest share of an edge that reports use, by sums over the whole map without any bound. */
function worstEdge({ metric, graph, weights }) {
  const sums = Array.from({ length: metric.n }, (_, i) => {
    const lengths = lengthsFrom(graph, i);
    return lengths.reduce((sum, d, j) => sum + (d === Infinity ? 0 : metric.measure[j] * weights[d % weights.length] * 2 ** -Math.floor(d / weights.length)), 0);
  });
  let worst = 0;
  for (let i = 0; i < metric.n; i++) {
    for (let a = graph.start[i]; a < graph.start[i + 1]; a++) {
      const full = metric.graph.weight[a];
      if (full > 0) worst = Math.max(worst, (graph.weight[a] + 8192 * Math.abs(Math.log(sums[i] / sums[graph.index[a]]))) / full);
    }
  }
  return worst;
}

/** Plain label correcting: whatever became nearer is looked at again. */
function lengthsFrom({ start, index, weight }, source) {
  const dist = new Array(start.length - 1).fill(Infinity);
  dist[source] = 0;
  for (const queue = [source]; queue.length > 0; ) {
    const next = new Set();
    for (const v of queue.splice(0)) {
      for (let a = start[v]; a < start[v + 1]; a++) {
        if (dist[v] + weight[a] >= dist[index[a]]) continue;
        dist[index[a]] = dist[v] + weight[a];
        next.add(index[a]);
      }
    }
    queue.push(...next);
  }
  return dist;
}

test("heights or a measure that are wrong by a little are found, from both sides", async () => {
  const verdicts = [];
  for (const by of [1, 16, 256]) {
    const bytes = changed(sharp, ({ height }) => (height[500] += by));
    const { ok, faults } = await checked(bytes);
    const worst = worstEdge(await Elastic.fromBytes(bytes));
    assert.ok(Math.abs(worst - 1) > 1e-6, "a case that rounding could decide");
    assert.equal(ok, worst <= 1, `height + ${by}: an edge is used to ${worst}`);
    if (!ok) assert.match(faults.join(), /edge/);
    verdicts.push(ok);
  }
  assert.ok(verdicts.includes(true) && verdicts.includes(false));
  await faulty(changed(sharp, ({ measure }) => measure.fill(1, 490, 520)), /edge/);
  await faulty(changed(sharp, ({ measure }) => measure.fill(1000)), /edge/);
});

function checkerOf({ metric, graph, weights }, { near, far, simd }) {
  const fall = Float64Array.from({ length: far + 1 }, (_, d) => weights[d % weights.length] * 2 ** -Math.floor(d / weights.length));
  const outside = metric.measure.reduce((sum, share, i) => sum + (metric.fence[i] > 0 ? 0 : share), 0);
  const { start, index, weight } = metric.graph;
  const map = { start, index, weight, low: graph.weight, mass: metric.mass, measure: metric.measure, outside, table: new Float64Array(1), fall, near };
  return makeChecker(map, makeLanes({ simd }));
}

test("sums lie within their bounds at any reach, with vectors and without", async () => {
  const mechanism = await Elastic.fromBytes(sharp);
  const random = new SeededRandom("sums");
  for (const [near, far] of [[3000, 5000], [20_000, 30_000], [90_112, 114_688]]) {
    const sources = Int32Array.from({ length: 7 }, () => random.bytes(4).readUInt32BE() % mechanism.metric.n).filter((i) => mechanism.metric.fence[i] === 0);
    const [vectors, one] = [true, false].map((simd) => checkerOf(mechanism, { near, far, simd }));
    const { inner, beyond } = vectors.totals(sources);
    assert.deepEqual(one.totals(sources), { inner, beyond });
    const whole = vectors.whole(sources, mechanism.weights);
    sources.forEach((source, k) => {
      const { weights } = mechanism;
      const fall = (d) => weights[d % weights.length] * 2 ** -Math.floor(d / weights.length);
      const lengths = lengthsFrom(mechanism.graph, source);
      const part = (value) => lengths.reduce((sum, d, j) => sum + (d === Infinity ? 0 : mechanism.metric.measure[j] * value(d)), 0);
      const close = (a, b) => assert.ok(Math.abs(a - b) <= 1e-12 * Math.abs(b), `${a} ${b}`);
      close(whole[k], part(fall));
      close(inner[k], part((d) => Math.max(0, fall(d) - fall(near))));
      assert.ok(beyond[k] >= part((d) => fall(Math.max(d, near))) * (1 - 1e-12));
    });
  }
});

/** A worker of Node behind the face of a browser's. */
function spawn(text) {
  const face = "const { parentPort } = require('worker_threads'); let onmessage; const postMessage = (m) => parentPort.postMessage(m);";
  const worker = new Worker(`${face} parentPort.on("message", (data) => onmessage({ data }));\n${text}`, { eval: true });
  const shown = { postMessage: (message) => worker.postMessage(message), terminate: () => worker.terminate() };
  worker.on("message", (data) => shown.onmessage({ data }));
  worker.on("error", (error) => shown.onerror(error));
  return shown;
}

test("workers come to the same claim, and tell how far they are", async () => {
  const told = [];
  const claim = await checked(sharp, { spawn, workers: 2, progress: (part) => told.push(part) });
  assert.deepEqual(claim, await checked(sharp));
  assert.ok(told.length > 4 && told.at(-1) === 1 && told.every((part, k) => k === 0 || part >= told[k - 1]));
});

test("a page that may not have workers gets its answer all the same", async () => {
  const broken = () => {
    const worker = { postMessage: () => setTimeout(() => worker.onerror({})), terminate: () => undefined };
    return worker;
  };
  assert.deepEqual(await checked(plain, { spawn: broken, workers: 2 }), await checked(plain));
});

test("it can be stopped", async () => {
  const stop = new AbortController();
  const stopped = checked(sharp, { signal: stop.signal, progress: () => stop.abort() });
  await assert.rejects(stopped, (error) => error instanceof GeoelasticError && error.code === "stopped");
});

test("a claim is remembered by the bytes it was made for", async () => {
  const kept = new Map();
  const store = { get: async (key) => kept.get(key), set: async (key, value) => void kept.set(key, value) };
  let work = 0;
  const progress = () => work++;
  const first = await verify(plain, { store, progress });
  const before = work;
  assert.deepEqual(await verify(plain, { store, progress }), first);
  assert.equal(work, before, "nothing was done again");
  await verify(changed(plain, ({ mass }) => void (mass[0] += 1)), { store, progress });
  assert.ok(work > before && kept.size === 2);
});
