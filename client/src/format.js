// SPDX-License-Identifier: Apache-2.0
// Reading `.geox` files; docs/format.md describes them.

import { GeoelasticError } from "./errors.js";

const MAGIC = [0x67, 0x65, 0x6f, 0x78, 0x0d, 0x0a, 0x1a];
/** 1; 2 for a file with heights; 3 for a file with places, and perhaps heights. */
const FORMAT_VERSIONS = [1, 2, 3];
const DIGEST_BYTES = 32;

/** The header and the arrays (Float64Array of whole numbers, by name) of a portable file. */
export async function readPortable(bytes) {
  if (bytes.length < 12 + DIGEST_BYTES || MAGIC.some((byte, k) => bytes[k] !== byte)) {
    throw new GeoelasticError("file", "not a portable metric");
  }
  if (!FORMAT_VERSIONS.includes(bytes[7])) {
    throw new GeoelasticError("file", `written in format ${bytes[7]}; this client reads formats 1 to ${FORMAT_VERSIONS.at(-1)}`);
  }
  const body = bytes.subarray(0, bytes.length - DIGEST_BYTES);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  if (digest.some((byte, k) => byte !== bytes[body.length + k])) {
    throw new GeoelasticError("file", "truncated or corrupt: the contents do not match their checksum");
  }
  const end = 12 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(12, end)));
  return { head, arrays: decodeArrays(head.arrays, await inflated(body.subarray(end))) };
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function decodeArrays(described, bytes) {
  const arrays = {};
  let at = 0;
  for (const { name, count, times, ratio } of described) {
    const values = new Float64Array(count);
    const base = times === undefined ? null : arrays[times];
    let before = 0;
    for (let k = 0; k < count; k++) {
      // numbers reach 2^53: multiplication, not shifts, which are of 32 bits
      let number = 0;
      let place = 1;
      while (bytes[at] >= 128) {
        number += (bytes[at++] - 128) * place;
        place *= 128;
      }
      if (at >= bytes.length) throw new GeoelasticError("file", `the array '${name}' is cut short`);
      number += bytes[at++] * place;
      const change = number % 2 === 0 ? number / 2 : -(number + 1) / 2;
      before = (base === null ? before : Math.floor(base[k] * ratio)) + change;
      values[k] = before;
    }
    arrays[name] = values;
  }
  return arrays;
}
