// SPDX-License-Identifier: Apache-2.0
// Where random bits come from, and whole numbers made of them exactly as in Python.

import { GeoelasticError } from "./errors.js";

/** A BigInt drawn uniformly from [0, n): whole bytes, big-endian, spare high bits cleared, again while it is >= n. */
export function uniformBelow(source, n) {
  if (n <= 0n) throw new GeoelasticError("input", "'n' must be >= 1");
  const bits = n === 1n ? 0 : (n - 1n).toString(2).length;
  const size = (bits + 7) >> 3;
  const mask = (1n << BigInt(bits)) - 1n;
  for (;;) {
    let hex = "0";
    for (const byte of source.bytes(size)) hex += byte.toString(16).padStart(2, "0");
    const value = BigInt(`0x${hex}`) & mask;
    if (value < n) return value;
  }
}

/** The browser's cryptographic source. */
export class SystemRandom {
  #pool = new Uint8Array(4096);
  #at = 4096;

  bytes(n) {
    if (n > this.#pool.length) throw new GeoelasticError("input", "'n' must be at most 4096");
    if (this.#at + n > this.#pool.length) {
      crypto.getRandomValues(this.#pool);
      this.#at = 0;
    }
    const given = this.#pool.slice(this.#at, this.#at + n);
    this.#pool.fill(0, this.#at, this.#at + n); // a draw that was used cannot be read again
    this.#at += n;
    return given;
  }
}

/** Given bytes, once: for test vectors and for keyed reports. */
export class ReplayRandom {
  #data;
  #at = 0;

  constructor(data) {
    this.#data = data;
  }

  bytes(n) {
    if (this.#at + n > this.#data.length) throw new GeoelasticError("random", "the replayed bytes are used up");
    this.#at += n;
    return this.#data.subarray(this.#at - n, this.#at);
  }
}
