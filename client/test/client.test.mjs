// SPDX-License-Identifier: Apache-2.0
// Files that are damaged, places that cannot be hidden, fences drawn on the device, and the stand-in for geolocation.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  carveFence, Elastic, GeoelasticError, installGeolocation, leastRatio, Metric, ReplayRandom, requirementTable, sharpen,
  Sticky,  SystemRandom, uniformBelow, verify,
} from "../src/index.js";
import { bytesOf, packed, SeededRandom, unpacked } from "./support.mjs";

const bytes = bytesOf("town.geox");
const mechanism = await Elastic.fromBytes(bytes);
const { metric } = mechanism;
const INSIDE = [48.8567, 2.3387];
const code = (expected) => (error) => error instanceof GeoelasticError && error.code === expected;

test("any changed byte of a file is noticed", async () => {
  for (let at = 0; at < bytes.length; at += 997) {
    const damaged = bytes.slice();
    damaged[at] ^= 1;
    await assert.rejects(Metric.fromBytes(damaged), code("file"));
  }
  await assert.rejects(Metric.fromBytes(bytes.slice(0, 100)), code("file"));
  await assert.rejects(Metric.fromBytes(new Uint8Array(0)), code("file"));
});

test("places that cannot be hidden give no report, and no message holds them", () => {
  const failing = (lat, lon, why) =>
    assert.throws(() => mechanism.report(lat, lon), (error) => code(why)(error) && !error.message.includes(String(lat)));
  failing(40.125, 2.35, "outside");
  failing(NaN, 2.35, "input");
  failing(91, 2.35, "input");
  const [lat, lon] = metric.cellToLatLon(0, 0);
  failing(lat, lon, "frame");
});

test("numbers below n are uniform and follow the bytes", () => {
  assert.equal(uniformBelow(new ReplayRandom(Uint8Array.of(0x01, 0x02)), 1n << 16n), 0x0102n);
  assert.equal(uniformBelow(new ReplayRandom(Uint8Array.of(0xff, 0x05)), 6n), 5n, "spare bits cleared, 7 thrown away");
  assert.equal(uniformBelow(new ReplayRandom(new Uint8Array(0)), 1n), 0n);
  assert.throws(() => uniformBelow(new ReplayRandom(new Uint8Array(1)), 1n << 20n), code("random"));
  const counts = new Array(5).fill(0);
  const random = new SystemRandom();
  for (let k = 0; k < 20000; k++) counts[Number(uniformBelow(random, 5n))]++;
  const chi2 = counts.reduce((sum, count) => sum + (count - 4000) ** 2 / 4000, 0);
  assert.ok(chi2 < 62.2, `chi-square ${chi2} with 4 degrees of freedom, alpha = 1e-12`);
});

test("a fence drawn on the device is closed, even, and leaves everybody their crowd", () => {
  const [lat, lon] = INSIDE;
  const ring = [[lat - 0.004, lon - 0.004], [lat - 0.004, lon + 0.005], [lat + 0.003, lon + 0.005], [lat + 0.003, lon - 0.004]];
  const carved = carveFence(metric, ring);
  const made = new Elastic(carved.metric);
  const inside = carved.metric.locate(lat, lon);
  const number = carved.metric.fence[inside];
  assert.ok(number > 0 && carved.cells > 10 && carved.checked > 0);
  const table = requirementTable(carved.metric.head);
  const { search } = carved.metric;
  let least = Infinity;
  for (let i = 0; i < carved.metric.n; i++) {
    if (carved.metric.fence[i] > 0 || !carved.metric.isSecret(i)) continue;
    search.begin([i]);
    search.expand(table.length - 1, table.length - 1);
    least = Math.min(least, leastRatio(search, carved.metric.mass, table).least);
    search.clear();
  }
  assert.ok(least >= 1, `every secret has its crowd, least ratio ${least}`);
  const random = new SeededRandom("fence");
  for (let k = 0; k < 50; k++) {
    assert.equal(carved.metric.fence[made.reportFrom(inside, random).location], number, "inside stays inside");
  }
  const outside = carved.metric.locate(lat + 0.01, lon);
  const chances = made.probabilities(outside);
  assert.equal(chances.reduce((sum, p, j) => sum + (carved.metric.fence[j] > 0 ? p : 0), 0), 0, "outside stays outside");
  const other = carveFence(metric, ring.map(([a, b]) => [a, b + 0.004]));
  assert.notEqual(other.metric.head.sticky, carved.metric.head.sticky, "other fences, independent keyed reports");
  assert.equal(carveFence(metric, ring).metric.head.sticky, carved.metric.head.sticky);
  const twice = carveFence(carved.metric, ring.map(([a, b]) => [a, b + 0.004]));
  assert.equal(Math.max(...twice.metric.fence), Math.max(...carved.metric.fence), "fences that touch are one");
  assert.throws(() => carveFence(metric, [[0, 0], [0, 1], [1, 1]]), code("input"));
});

test("what is left out of a mean distance is too little to see, and radii are never too small", async () => {
  for (const name of ["sharp", "town"]) {
    const mechanism = await Elastic.fromBytes(bytesOf(`${name}.geox`));
    const { metric } = mechanism;
    for (let i = 0; i < metric.n; i += 97) {
      // every location of the map, by its probability
      const [x, y] = metric.xy(i);
      const away = Array.from({ length: metric.n }, (_, j) => Math.hypot(metric.xy(j)[0] - x, metric.xy(j)[1] - y));
      const chance = mechanism.probabilities(i);
      const meanM = chance.reduce((sum, part, j) => sum + part * away[j], 0);
      const found = mechanism.spread(i);
      assert.ok(Math.abs(found.meanM / meanM - 1) < 1e-3);
      const inside = (radius) => chance.reduce((sum, part, j) => sum + (away[j] <= radius ? part : 0), 0);
      const bin = (Math.hypot(metric.rows, metric.cols) * metric.cellM) / 512;
      assert.ok(inside(found.radius95M) >= 0.95 - 1e-9);
      assert.ok(inside(found.radius95M - 2 * bin) < 0.951);
    }
  }
});

test("a map that was opened before opens again from plain data, and reports the same", async () => {
  const first = await Elastic.fromBytes(bytesOf("sharp.geox"));
  const again = new Elastic(new Metric(structuredClone(first.metric.ready())));
  const place = Array.from({ length: first.metric.n }, (_, i) => i).find((i) => first.metric.isSecret(i) && first.metric.fence[i] === 0);
  assert.deepEqual(again.probabilities(place), first.probabilities(place));
  assert.deepEqual(again.spread(place), first.spread(place));
  // looked for in the list of locations, and in the array of cells once there is one
  const looked = Int32Array.from(first.metric.owner, (_, cell) => again.metric.leafAt([Math.floor(cell / again.metric.cols), cell % again.metric.cols]));
  assert.deepEqual(looked, first.metric.owner);
  assert.deepEqual(again.metric.owner, first.metric.owner);
});

/** A navigator whose real geolocation always answers one place. */
function fakeNavigator(lat, lon) {
  class FakeNavigator {
    get geolocation() {
      return {
        asked: 0,
        getCurrentPosition: (success) => success({ coords: { latitude: lat, longitude: lon, accuracy: 5 }, timestamp: 1 }),
      };
    }
  }
  return new FakeNavigator();
}

const ask = (navigator) =>
  new Promise((resolve) => navigator.geolocation.getCurrentPosition((position) => resolve({ position }), (error) => resolve({ error })));

test("the corners of a fence may go round either way, closed or not, as [lat, lon]", () => {
  const [lat, lon] = INSIDE;
  const ring = [[lat - 0.002, lon - 0.002], [lat - 0.003, lon + 0.003], [lat + 0.001, lon + 0.002], [lat + 0.002, lon - 0.001]];
  const carved = carveFence(metric, ring).metric;
  for (const same of [ring.toReversed?.() ?? [...ring].reverse(), [...ring, ring[0]], [...ring.slice(2), ...ring.slice(0, 2)]]) {
    const again = carveFence(metric, same).metric;
    assert.deepEqual([again.fence, again.scale], [carved.fence, carved.scale]);
  }
  assert.deepEqual(carved.head.exponent, [1, 2]);
  for (const wrong of [[], ring.slice(0, 2), [...ring, [NaN, 2]], [...ring, null], ring.map(([a, b]) => [b + 200, a]), "fence", ring.map(([a, b]) => [b, a])]) {
    assert.throws(() => carveFence(metric, wrong), code("input"));
  }
});

test("a fence in a sharpened map leaves neither heights nor their exponent behind", async () => {
  const sharp = (await Elastic.fromBytes(bytesOf("sharp.geox"))).metric;
  const [lat, lon] = INSIDE;
  const carved = carveFence(sharp, [[lat, lon], [lat, lon + 0.004], [lat + 0.003, lon + 0.004], [lat + 0.003, lon]]).metric;
  assert.deepEqual([carved.height, carved.head.exponent, carved.head.relief], [undefined, [1, 2], undefined]);
  // even if somebody put the exponent back by hand
  carved.head.exponent = [1, 1];
  assert.equal(new Elastic(carved).weights.length, 11357, "half of each distance: a weight halves in 2 ln 2 levels");
  assert.equal((await verify(new Elastic(carved))).ok, true);
});

test("a carved map is sharpened again on the device, certified, and errs less than by half", async () => {
  const before = await Elastic.fromBytes(bytesOf("sharp.geox"));
  const [lat, lon] = INSIDE;
  const half = new Elastic(carveFence(before.metric, [[lat, lon], [lat, lon + 0.004], [lat + 0.003, lon + 0.004], [lat + 0.003, lon]]).metric);
  const again = await sharpen(half);
  const { ok, facts } = await verify(again);
  assert.deepEqual([ok, facts.sharpened, again.metric.head.exponent], [true, true, [1, 1]]);
  const near = again.metric.locate(lat - 0.004, lon - 0.003);
  assert.ok(again.spread(near).meanM < 0.95 * half.spread(near).meanM);
  assert.equal(half.metric.height, undefined, "what was given stays as it is");
  const { heightBefore, touched } = carveFence(half.metric, [[lat - 0.004, lon - 0.004], [lat - 0.004, lon - 0.002], [lat - 0.002, lon - 0.003]]).metric;
  assert.equal(heightBefore.length, half.metric.n, "a second fence, carved before the first is sharpened, has the same place to begin from");
  assert.ok(half.metric.touched.filter((i) => touched.includes(i)).length > 0.9 * half.metric.touched.length);
  const stop = new AbortController();
  stop.abort();
  await assert.rejects(sharpen(half, { signal: stop.signal }), code("stopped"));
});

test("the stand-in gives sticky reports with an accuracy that is a function of the report", async () => {
  const navigator = fakeNavigator(...INSIDE);
  const key = Sticky.newKey();
  await installGeolocation({ metric: mechanism, key, navigator });
  const { position } = await ask(navigator);
  const expected = await new Sticky(mechanism, key).report(...INSIDE);
  assert.deepEqual([position.coords.latitude, position.coords.longitude], [expected.lat, expected.lon]);
  assert.equal(position.coords.accuracy, Math.ceil(mechanism.spread(expected.location).radius95M));
  assert.equal(position.coords.altitude, null);
  assert.deepEqual((await ask(navigator)).position.coords, position.coords);
});

test("the stand-in fails closed", async () => {
  const outside = fakeNavigator(10, 10);
  await installGeolocation({ metric: mechanism, navigator: outside });
  assert.equal((await ask(outside)).error.code, 2);
  const missing = fakeNavigator(...INSIDE);
  await assert.rejects(installGeolocation({ metric: "http://127.0.0.1:9/none.geox", navigator: missing }));
  const { error, position } = await ask(missing);
  assert.equal(position, undefined);
  assert.equal(error.code, 2);
});

test("a watch reports at once, then at a fixed pace, until it is cleared", async () => {
  const navigator = fakeNavigator(...INSIDE);
  await installGeolocation({ metric: mechanism, navigator, pauseMs: 20, delayMs: 1 });
  const seen = [];
  const id = navigator.geolocation.watchPosition((position) => seen.push(position));
  await new Promise((resolve) => setTimeout(resolve, 400));
  navigator.geolocation.clearWatch(id);
  const count = seen.length;
  assert.ok(count >= 2);
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(seen.length, count);
});

test("answers come at a fixed delay, however long the search took; refusals too", async () => {
  // a clock that only searches and sleeping move: what a page could measure, without this machine's noise
  const clock = { time: 0, now: () => clock.time, sleep: async (ms) => void (clock.time += ms) };
  const slow = await Elastic.fromBytes(bytes);
  const draw = slow.reportFrom.bind(slow);
  const took = (i) => 1 + ((i * 7919) % 400);
  slow.reportFrom = (i, random) => {
    clock.time += took(i);
    return draw(i, random);
  };
  const seen = [];
  for (let i = 0; i < metric.n; i += 53) {
    const [lat, lon] = metric.projection.toLatLon(...metric.xy(i));
    const navigator = fakeNavigator(lat, lon);
    await installGeolocation({ metric: slow, navigator, clock });
    const begun = clock.time;
    const { position } = await ask(navigator);
    assert.equal(position !== undefined, metric.isSecret(i));
    seen.push([clock.time - begun, took(i)]);
  }
  assert.ok(new Set(seen.map(([, search]) => search)).size > 10, "searches took different times");
  assert.deepEqual([...new Set(seen.map(([answer]) => Math.round(answer)))], [1000]);
  clock.time = 0;
  slow.reportFrom = (i, random) => {
    clock.time += 2500;
    return draw(i, random);
  };
  const navigator = fakeNavigator(...INSIDE);
  await installGeolocation({ metric: slow, navigator, clock });
  await ask(navigator);
  assert.equal(clock.time, 3000, "what takes longer waits for a whole number of delays");
});

test("a map that does not hold gives no position, if it was to be checked", async () => {
  const file = unpacked(bytes);
  file.arrays.mass = file.arrays.mass.map((part) => Math.floor(part / 2));
  const clock = { now: () => 0, sleep: async () => undefined };
  for (const [made, holds] of [[mechanism, true], [await Elastic.fromBytes(packed(file)), false]]) {
    const navigator = fakeNavigator(...INSIDE);
    const installed = installGeolocation({ metric: made, navigator, checked: true, clock });
    if (holds) await installed;
    else await assert.rejects(installed, code("file"));
    const { position, error } = await ask(navigator);
    assert.equal(position !== undefined, holds);
    if (!holds) assert.equal(error.code, 2);
  }
});
