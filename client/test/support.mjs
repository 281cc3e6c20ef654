// SPDX-License-Identifier: Apache-2.0
// What the tests share: files, and Python's seeded source.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { deflateRawSync, inflateRawSync } from "node:zlib";

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

/** The header and arrays of a portable file as they are stored, unchecked: what tests change before `packed`. */
export function unpacked(bytes) {
  const end = 12 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  const head = JSON.parse(Buffer.from(bytes.subarray(12, end)).toString());
  const body = inflateRawSync(bytes.subarray(end, bytes.length - 32));
  let at = 0;
  const arrays = {};
  for (const { name, count, times, ratio } of head.arrays) {
    let before = 0n;
    arrays[name] = Array.from({ length: count }, (_, k) => {
      let number = 0n;
      for (let bits = 0n; ; bits += 7n) {
        number |= BigInt(body[at] & 127) << bits;
        if (body[at++] < 128) break;
      }
      const change = number & 1n ? -(number >> 1n) - 1n : number >> 1n;
      const from = name === "edge_rise" ? 128n : times === undefined ? before : BigInt(Math.floor(arrays[times][k] * ratio));
      before = from + change;
      return Number(before);
    });
  }
  return { head, arrays, version: bytes[7] };
}

/** The bytes of a portable file with whatever one wants in it; `text`, `body`: the header's or the arrays' bytes themselves. */
export function packed({ head, arrays, version = 3, text, body }) {
  const described = head.arrays.map(({ name, count, ...rest }) => ({ name, count: rest.claims ?? arrays[name].length }));
  const header = Buffer.from(text ?? JSON.stringify({ ...head, arrays: described }));
  const bytes = [];
  for (const { name } of described) {
    let before = 0n;
    for (const value of arrays[name]) {
      const change = BigInt(value) - (name === "edge_rise" ? 128n : before);
      before = BigInt(value);
      let number = change < 0n ? -2n * change - 1n : 2n * change;
      for (; number >= 128n; number >>= 7n) bytes.push(Number(number & 127n) | 128);
      bytes.push(Number(number));
    }
  }
  const size = Buffer.alloc(4);
  size.writeUInt32LE(header.length);
  const whole = Buffer.concat([Buffer.from("geox\r\n\x1a"), Buffer.from([version]), size, header, body ?? deflateRawSync(Buffer.from(bytes))]);
  return new Uint8Array(Buffer.concat([whole, createHash("sha256").update(whole).digest()]));
}
