// SPDX-License-Identifier: Apache-2.0
// Files of strangers: the same ones are refused, and the others read as the same numbers, as in Python (tests/hostile.py makes them).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Elastic, GeoelasticError, verify } from "../src/index.js";

const vectors = JSON.parse(readFileSync(new URL("hostile.json", import.meta.url), "utf8"));

test("there are hundreds of them, most of them wrong", () => {
  assert.ok(vectors.length >= 200);
  assert.ok(vectors.filter(({ accept }) => !accept).length >= 150);
});

for (const { name, accept, reason, secrets, weight, holds, bytes } of vectors) {
  test(`${accept ? "accepted" : "refused"}: ${name}`, async () => {
    const read = Elastic.fromBytes(Uint8Array.from(Buffer.from(bytes, "base64")));
    if (!accept) {
      await assert.rejects(read, (error) => error instanceof GeoelasticError && error.code === "file", reason);
      return;
    }
    const mechanism = await read;
    const { metric, graph } = mechanism;
    const hidden = Array.from({ length: metric.n }, (_, i) => metric.isSecret(i)).filter(Boolean).length;
    assert.deepEqual([hidden, graph.weight.reduce((sum, part) => sum + part, 0)], [secrets, weight]);
    assert.equal((await verify(mechanism, { require: null, workers: 0 })).ok, holds);
  });
}
