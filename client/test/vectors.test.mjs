// SPDX-License-Identifier: Apache-2.0
// The same file and the same bytes give the same reports as in Python.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Elastic, Sticky } from "../src/index.js";
import { bytesOf, SeededRandom, vectors } from "./support.mjs";

const mechanism = await Elastic.fromBytes(bytesOf("town.geox"));
const expected = vectors();

test("fresh reports", () => {
  assert.ok(expected.reports.length >= 400);
  for (const { from, seed, to } of expected.reports) {
    const { row, col } = mechanism.reportFrom(from, new SeededRandom(seed));
    assert.deepEqual([row, col], to, `report ${seed}`);
  }
  assert.ok(expected.reports.some(({ from }) => mechanism.metric.fence[from] > 0), "fences are among them");
});

test("sticky reports", async () => {
  const key = Uint8Array.from(Buffer.from(expected.key, "hex"));
  for (const { from, user, to } of expected.sticky) {
    const { row, col } = await new Sticky(mechanism, key, user).reportFrom(from);
    assert.deepEqual([row, col], to);
  }
});

test("probabilities", () => {
  const { from, values } = expected.probabilities;
  mechanism.probabilities(from).forEach((chance, j) => assert.ok(Math.abs(chance - values[j]) <= 1e-12 * values[j]));
});

test("many reports from one place, which share a search", () => {
  for (const { from, seed, to } of expected.many) {
    const drawn = mechanism.reportsFrom(from, to.length, new SeededRandom(seed));
    assert.deepEqual(drawn.map(({ location }) => location), to, `reports ${seed}`);
  }
});
