// SPDX-License-Identifier: Apache-2.0
// What the tests share: files, and Python's seeded source.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export const bytesOf = (name) => new Uint8Array(readFileSync(new URL(name, import.meta.url)));
export const vectors = () => JSON.parse(readFileSync(new URL("vectors.json", import.meta.url), "utf8"));

/** SHA-256 in counter mode, as `SeededRandom` in Python. */
export class SeededRandom {
  constructor(seed) {
    this.key = createHash("sha256").update(String(seed)).digest();
    this.counter = 0n;
    this.pool = Buffer.alloc(0);
  }

  bytes(n) {
    while (this.pool.length < n) {
      const counter = Buffer.alloc(8);
      counter.writeBigUInt64BE(this.counter++);
      this.pool = Buffer.concat([this.pool, createHash("sha256").update(this.key).update(counter).digest()]);
    }
    const given = this.pool.subarray(0, n);
    this.pool = this.pool.subarray(n);
    return given;
  }
}
