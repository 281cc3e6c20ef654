// SPDX-License-Identifier: Apache-2.0
// Releases of traces asked for on stdin, from a map: used by the Python tests to compare.

import { readFileSync } from "node:fs";
import { Elastic, Habit, LiveTrace, TraceMechanism } from "../src/index.js";
import { SeededRandom } from "./support.mjs";

const mechanism = await Elastic.fromBytes(new Uint8Array(readFileSync(process.argv[2])));
const asked = JSON.parse(readFileSync(0, "utf8"));
const releases = asked.releases.map(({ options, places, past, seed }) => {
  const { location, cells } = new TraceMechanism(mechanism, options).release(places, new Habit(new Map(past)), new SeededRandom(seed));
  return { location, cells };
});
const live = new LiveTrace(mechanism, asked.live.options);
const random = new SeededRandom(asked.live.seed);
const reports = asked.live.places.map((i, k) => {
  const { row, col } = live.report(i, asked.live.start + k * asked.live.every, random);
  return [row, col];
});
console.log(JSON.stringify({ releases, live: reports }));
