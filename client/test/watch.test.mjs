// SPDX-License-Identifier: Apache-2.0
// Watching: ticks that do not show when one asks, traces that come later, gaps that hold, and what is kept.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Elastic, Watch } from "../src/index.js";
import { bytesOf, SeededRandom } from "./support.mjs";

const mechanism = await Elastic.fromBytes(bytesOf("town.geox"));
const { metric } = mechanism;
const secrets = [...Array(metric.n).keys()].filter((i) => metric.isSecret(i) && metric.fence[i] === 0);
const at = (i) => metric.cellToLatLon(metric.leaves.row[i], metric.leaves.col[i]);
const memory = () => {
  const kept = new Map();
  return { kept, get: (key) => kept.get(key) ?? null, set: (key, value) => kept.set(key, value) };
};

test("a report stands between ticks, changes at them only, and is charged once", () => {
  const store = memory();
  const watch = new Watch(mechanism, { store, tickSeconds: 3600 });
  const random = new SeededRandom(1);
  const shown = [];
  for (let k = 0; k < 40; k++) shown.push(JSON.stringify(watch.see(...at(secrets[(7 * k) % secrets.length]), 7200 + 900 * k, random)));
  for (let k = 0; k < 40; k++) assert.equal(shown[k], shown[k - (k % 4)]);
  assert.ok(new Set(shown).size > 3);
  assert.ok(Math.abs(watch.spent(1, Infinity, 7200 + 36000) - 10 * 0.5) < 1e-12);
  const again = new Watch(mechanism, { store, tickSeconds: 3600 });
  assert.equal(JSON.stringify(again.see(...at(secrets[0]), 7200 + 900 * 39)), shown[39]);
  assert.ok(!JSON.stringify([...store.kept]).includes("place"));
});

test("a trace is shown a block later on its own clock; a gap holds; beyond the map the nearest counts", () => {
  const store = memory();
  const watch = new Watch(mechanism, { store, mode: "trace", stepSeconds: 600, blockHours: 2 });
  const random = new SeededRandom(2);
  const shown = [];
  for (let k = 0; k < 36; k++) {
    const place = k % 5 === 4 ? [undefined, undefined] : k % 7 === 3 ? [metric.head.grid.lat + 1, metric.head.grid.lon] : at(secrets[k]);
    shown.push(watch.see(...place, 600 * k, random));
  }
  assert.ok(shown.slice(0, 12).every((report) => report === null));
  shown.slice(12).forEach((report, k) => assert.equal(report.timeS, 600 * k));
  assert.ok(Math.abs(watch.spent(1, Infinity, 36 * 600) - 2 * 2 * 0.5) < 1e-12, "two whole blocks are paid for");
});
