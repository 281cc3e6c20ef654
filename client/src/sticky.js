// SPDX-License-Identifier: Apache-2.0
// The same place gives the same report again: random bytes from HMAC-SHA-256 under a secret key, as mechanism/sticky.py.

import { GeoelasticError } from "./errors.js";
import { ReplayRandom } from "./random.js";

const KEY_BYTES = 32;
const FIRST_BLOCKS = 16;

export class Sticky {
  /** @param key at least 32 secret bytes (Uint8Array) */
  constructor(mechanism, key, user = "") {
    if (!(key instanceof Uint8Array) || key.length < KEY_BYTES) {
      throw new GeoelasticError("input", `'key' must be at least ${KEY_BYTES} secret bytes`);
    }
    this.mechanism = mechanism;
    this.user = user;
    this.secret = hmacKey(key);
  }

  /** A fresh key from the browser's cryptographic source. */
  static newKey() {
    return crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  }

  async report(lat, lon) {
    return this.reportFrom(this.mechanism.metric.locateSecret(lat, lon));
  }

  async reportFrom(i) {
    const { fence, head } = this.mechanism.metric;
    // all of a fence is one place: not even returns show inside
    const place = fence[i] > 0 ? fence.indexOf(fence[i]) : i;
    const encoder = new TextEncoder();
    const context = `report|${head.sticky}|${encoder.encode(this.user).length}|${this.user}|${place}`;
    const derived = await hmacKey(await hmac(await this.secret, encoder.encode(context)));
    for (let blocks = FIRST_BLOCKS; ; blocks *= 4) {
      try {
        return this.mechanism.reportFrom(place, new ReplayRandom(await stream(derived, blocks)));
      } catch (error) {
        // more bytes were needed than were made: the first ones stay the same, so the report does too
        if (!(error instanceof GeoelasticError && error.code === "random")) throw error;
      }
    }
  }
}

function hmacKey(bytes) {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

async function hmac(key, data) {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, data));
}

async function stream(key, blocks) {
  const counters = Array.from({ length: blocks }, (_, k) => {
    const counter = new Uint8Array(8);
    new DataView(counter.buffer).setBigUint64(0, BigInt(k));
    return hmac(key, counter);
  });
  const bytes = new Uint8Array(blocks * 32);
  (await Promise.all(counters)).forEach((block, k) => bytes.set(block, 32 * k));
  return bytes;
}
