// SPDX-License-Identifier: Apache-2.0
// DEFLATE (RFC 1951) with a bound. Browsers' own streams disagree about what may follow the last block and say nothing of
// sizes in advance; here all bytes must be used, and nothing is written beyond `most` bytes.

import { GeoelasticError } from "./errors.js";

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = Array.from({ length: 30 }, (_, k) => (k < 4 ? k + 1 : ((2 + (k & 1)) << ((k >> 1) - 1)) + 1));
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const END = 256;

/** What `bytes` were pressed from, at most `most` bytes; an error if they hold more, less than they promise, or anything else. */
export function inflate(bytes, most) {
  const reader = new BitReader(bytes);
  const out = new Growing(most);
  for (let last = 0; !last; ) {
    last = reader.bits(1);
    const kind = reader.bits(2);
    if (kind === 0) copyStored(reader, out);
    else if (kind === 1) decodeBlock(reader, out, ...fixedCodes());
    else if (kind === 2) decodeBlock(reader, out, ...ownCodes(reader));
    else throw damaged();
  }
  if (!reader.ended) throw damaged();
  return out.done();
}

function damaged() {
  return new GeoelasticError("file", "damaged: the contents cannot be unpacked");
}

class BitReader {
  constructor(bytes) {
    Object.assign(this, { bytes, at: 0, held: 0, count: 0 });
  }

  bits(n) {
    while (this.count < n) {
      if (this.at >= this.bytes.length) throw damaged();
      this.held |= this.bytes[this.at++] << this.count;
      this.count += 8;
    }
    const value = this.held & ((1 << n) - 1);
    this.held >>>= n;
    this.count -= n;
    return value;
  }

  /** The next symbol of a code; near the end there may be fewer bits than its longest word. */
  symbol({ table, longest }) {
    while (this.count < longest && this.at < this.bytes.length) {
      this.held |= this.bytes[this.at++] << this.count;
      this.count += 8;
    }
    const found = table[this.held & ((1 << longest) - 1)];
    const length = found & 15;
    if (length === 0 || length > this.count) throw damaged();
    this.held >>>= length;
    this.count -= length;
    return found >> 4;
  }

  /** Forget the rest of the byte, and give back the whole bytes that were read ahead. */
  align() {
    this.at -= this.count >> 3;
    this.held = this.count = 0;
  }

  get ended() {
    return this.at - (this.count >> 3) === this.bytes.length;
  }
}

/** Bytes that grow as they are written, so that a promise of many costs nothing. */
class Growing {
  constructor(most) {
    Object.assign(this, { most, values: new Uint8Array(Math.min(most, 1 << 16)), length: 0 });
  }

  room(more) {
    if (this.length + more > this.most) throw new GeoelasticError("file", "the contents are larger than their description");
    if (this.length + more <= this.values.length) return;
    const larger = new Uint8Array(Math.min(this.most, Math.max(2 * this.values.length, this.length + more)));
    larger.set(this.values);
    this.values = larger;
  }

  done() {
    return this.values.subarray(0, this.length);
  }
}

function copyStored(reader, out) {
  reader.align();
  const { bytes, at } = reader;
  if (at + 4 > bytes.length) throw damaged();
  const size = bytes[at] | (bytes[at + 1] << 8);
  if ((size ^ 0xffff) !== (bytes[at + 2] | (bytes[at + 3] << 8)) || at + 4 + size > bytes.length) throw damaged();
  out.room(size);
  out.values.set(bytes.subarray(at + 4, at + 4 + size), out.length);
  out.length += size;
  reader.at = at + 4 + size;
}

function decodeBlock(reader, out, literals, distances) {
  for (;;) {
    const symbol = reader.symbol(literals);
    if (symbol === END) return;
    if (symbol < END) {
      out.room(1);
      out.values[out.length++] = symbol;
      continue;
    }
    const kind = symbol - 257;
    if (kind >= LENGTH_BASE.length) throw damaged();
    const size = LENGTH_BASE[kind] + reader.bits(LENGTH_BITS[kind]);
    const far = reader.symbol(distances);
    if (far >= DISTANCE_BASE.length) throw damaged();
    const back = DISTANCE_BASE[far] + reader.bits(far < 4 ? 0 : (far >> 1) - 1);
    if (back > out.length) throw damaged();
    out.room(size);
    const { values } = out;
    for (let k = 0; k < size; k++, out.length++) values[out.length] = values[out.length - back];
  }
}

/** A look-up from the next bits (first bit lowest) to symbol x 16 + length of its word. */
function codeOf(lengths, { mayBeOne }) {
  const count = new Int32Array(16);
  for (const length of lengths) count[length]++;
  count[0] = 0;
  const next = new Int32Array(17);
  let left = 1;
  let longest = 1;
  for (let size = 1; size <= 15; size++) {
    left = 2 * left - count[size];
    if (left < 0) throw damaged();
    next[size + 1] = (next[size] + count[size]) << 1;
    if (count[size] > 0) longest = size;
  }
  // words that are left over: only a code of one word of one bit, or of none at all, may have them
  if (left > 0 && !(mayBeOne && longest === 1)) throw damaged();
  const table = new Uint16Array(1 << longest);
  lengths.forEach((length, symbol) => {
    if (length === 0) return;
    const word = next[length]++;
    let turned = 0;
    for (let bit = 0; bit < length; bit++) turned |= ((word >> bit) & 1) << (length - 1 - bit);
    for (let at = turned; at < table.length; at += 1 << length) table[at] = (symbol << 4) | length;
  });
  return { table, longest };
}

function fixedCodes() {
  const lengths = Array.from({ length: 288 }, (_, k) => (k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8));
  return [codeOf(lengths, { mayBeOne: false }), codeOf(new Array(32).fill(5), { mayBeOne: false })];
}

function ownCodes(reader) {
  const literals = reader.bits(5) + 257;
  const distances = reader.bits(5) + 1;
  const codes = reader.bits(4) + 4;
  if (literals > 286 || distances > 30) throw damaged();
  const first = new Array(19).fill(0);
  for (let k = 0; k < codes; k++) first[CODE_ORDER[k]] = reader.bits(3);
  const code = codeOf(first, { mayBeOne: false });
  const lengths = [];
  while (lengths.length < literals + distances) {
    const symbol = reader.symbol(code);
    if (symbol < 16) {
      lengths.push(symbol);
      continue;
    }
    if (symbol === 16 && lengths.length === 0) throw damaged();
    const value = symbol === 16 ? lengths.at(-1) : 0;
    const again = symbol === 16 ? 3 + reader.bits(2) : symbol === 17 ? 3 + reader.bits(3) : 11 + reader.bits(7);
    for (let k = 0; k < again; k++) lengths.push(value);
  }
  if (lengths.length > literals + distances || lengths[END] === 0) throw damaged();
  return [codeOf(lengths.slice(0, literals), { mayBeOne: true }), codeOf(lengths.slice(literals), { mayBeOne: true })];
}
