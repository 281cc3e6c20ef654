// SPDX-License-Identifier: Apache-2.0
// node reports.mjs FILE < jobs: one JSON list of [from, seed]; prints the reported [row, col] of each, and distances of the first.

import { readFileSync } from "node:fs";
import { Elastic } from "../src/index.js";
import { SeededRandom } from "./support.mjs";

const mechanism = await Elastic.fromBytes(new Uint8Array(readFileSync(process.argv[2])));
const jobs = JSON.parse(readFileSync(0, "utf8"));
const cells = jobs.map(([from, seed]) => {
  const { row, col } = mechanism.reportFrom(from, new SeededRandom(seed));
  return [row, col];
});
const places = jobs.slice(0, 50).map(([from]) => {
  const [lat, lon] = mechanism.metric.projection.toLatLon(...mechanism.metric.xy(from));
  return [lat, lon, mechanism.metric.locate(lat, lon)];
});
const distances = Array.from(mechanism.metric.distanceUnits(jobs[0][0]));
process.stdout.write(JSON.stringify({ cells, places, distances }));
