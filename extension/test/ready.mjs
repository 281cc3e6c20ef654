// SPDX-License-Identifier: Apache-2.0
// node test/ready.mjs MAP READY: a .geox file as the extension keeps it once it was checked; prints its digest. For `bench packs`, which
// opens maps that nobody would wait for to be checked.

import { readFile, writeFile } from "node:fs/promises";
import { Elastic } from "../../client/src/mechanism.js";
import { digestOf, pack } from "../src/packing.js";

const [map, target] = process.argv.slice(2);
const { metric } = await Elastic.fromBytes(new Uint8Array(await readFile(map)));
const ready = pack(metric.ready());
await writeFile(target, new Uint8Array(ready));
process.stdout.write(await digestOf(ready));
