// SPDX-License-Identifier: Apache-2.0
// Plain data with typed arrays in it as one buffer, and back: one piece is quick to keep, to read and to digest.

const KINDS = { Float64Array, Int32Array, Uint32Array, Uint8Array };
const GRAIN = 8;
const padded = (size) => Math.ceil(size / GRAIN) * GRAIN;

/** One buffer: the length of a text, the text (all that is no array, and what the arrays are), the arrays one after the other. */
export function pack(value) {
  const arrays = [];
  let size = 0;
  const text = new TextEncoder().encode(JSON.stringify(value, (_, part) => {
    if (!ArrayBuffer.isView(part)) return part;
    arrays.push([size, part]);
    size += padded(part.byteLength);
    return { packed: part.constructor.name, from: arrays.at(-1)[0], length: part.length };
  }));
  const first = GRAIN + padded(text.length);
  const whole = new Uint8Array(first + size);
  new DataView(whole.buffer).setUint32(0, text.length, true);
  whole.set(text, GRAIN);
  for (const [from, part] of arrays) whole.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), first + from);
  return whole.buffer;
}

/** What was packed, its arrays being windows into the buffer. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const first = GRAIN + padded(length);
  return JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, GRAIN, length)), (_, part) =>
    (part?.packed === undefined ? part : new KINDS[part.packed](buffer, first + part.from, part.length)));
}

export async function digestOf(bytes) {
  return Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
