// SPDX-License-Identifier: Apache-2.0
// Reading `.geox` files; docs/format.md describes them. Nothing is computed before schema.js has seen all of it.

import { GeoelasticError } from "./errors.js";
import { RISE_ONE } from "./graph.js";
import { inflate } from "./inflate.js";
import { parseJson } from "./json.js";
import { requireArrays, requireHeader } from "./schema.js";

const MAGIC = [0x67, 0x65, 0x6f, 0x78, 0x0d, 0x0a, 0x1a];
/** 1; 2 for a file with heights; 3 for a file with places, and perhaps heights; 4 for one whose edges have a rise. */
const FORMAT_VERSIONS = [1, 2, 3, 4];
const HEAD_START = 12;
const DIGEST_BYTES = 32;
/** A number below 2^53, its sign included, takes at most eight bytes of seven bits. */
const NUMBER_BYTES = 8;

/** The header and the arrays (Float64Array of whole numbers, by name) of a portable file, within the schema. */
export async function readPortable(bytes) {
  if (bytes.length < HEAD_START + DIGEST_BYTES || MAGIC.some((byte, k) => bytes[k] !== byte)) {
    throw new GeoelasticError("file", "not a portable metric");
  }
  if (!FORMAT_VERSIONS.includes(bytes[7])) {
    throw new GeoelasticError("file", `written in format ${bytes[7]}; this client reads formats 1 to ${FORMAT_VERSIONS.at(-1)}`);
  }
  if (!globalThis.crypto?.subtle) throw new GeoelasticError("file", "browsers can check files only on pages from https, from localhost or from a file");
  const body = bytes.subarray(0, bytes.length - DIGEST_BYTES);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  if (digest.some((byte, k) => byte !== bytes[body.length + k])) {
    throw new GeoelasticError("file", "truncated or corrupt: the contents do not match their checksum");
  }
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  if (HEAD_START + size > body.length) throw new GeoelasticError("file", "the header does not end within the file");
  const head = parseJson(bytes.subarray(HEAD_START, HEAD_START + size));
  requireHeader(head, bytes[7]);
  const most = head.arrays.reduce((sum, { count }) => sum + count, 0) * NUMBER_BYTES;
  const arrays = decodeArrays(head.arrays, inflate(body.subarray(HEAD_START + size), most));
  requireArrays(head, arrays);
  return { head, arrays };
}

function decodeArrays(described, bytes) {
  const arrays = {};
  let at = 0;
  for (const { name, count, times, ratio } of described) {
    if (count > bytes.length - at) throw new GeoelasticError("file", `the array '${name}' is cut short`);
    const values = new Float64Array(count);
    const base = times === undefined ? null : arrays[times];
    let before = 0;
    for (let k = 0; k < count; k++) {
      // sizes reach 2^53: multiplication, not shifts, which are of 32 bits; the sign is kept apart, or it would be rounded off
      const negative = bytes[at] % 2;
      const last = at + NUMBER_BYTES - 1;
      let size = 0;
      let place = 0.5;
      while (bytes[at] >= 128 && at < last) {
        size += Math.floor((bytes[at++] - 128) * place);
        place *= 128;
      }
      if (!(bytes[at] < 128)) throw new GeoelasticError("file", `the array '${name}' is cut short or has too long a number`);
      size += Math.floor(bytes[at++] * place);
      const change = negative ? -size - 1 : size;
      const from = name === "edge_rise" ? RISE_ONE : base === null ? before : Math.floor(base[k] * ratio);
      before = from + change;
      // beyond this doubles would begin to round, and another reader would see other numbers
      if (!(from < 2 ** 53 && before >= 0 && before < 2 ** 53)) throw new GeoelasticError("file", `the array '${name}' has a number beyond [0, 2^53)`);
      values[k] = before;
    }
    arrays[name] = values;
  }
  if (at !== bytes.length) throw new GeoelasticError("file", "there is more in the file than its arrays");
  return arrays;
}
