// SPDX-License-Identifier: Apache-2.0
// The inner loop of the checker: 128 distances made the least of 128 others plus an arc, four in one instruction of
// WebAssembly where it may be used, one by one where not. Like the checker it needs nothing outside itself.

/**
 * {words, reserve, pull} over one block of memory. A row is 128 distances of 32 bits; an arc is two words: where the other
 * row begins (in bytes), and the arc's length. pull(row, from, to), all in bytes: makes each distance of a row the least of
 * itself and the same of the other rows plus their arcs, and says whether any changed.
 */
export function makeLanes({ simd = true } = {}) {
  const PAGE = 65536;
  const ROW_BYTES = 512;
  const memory = new WebAssembly.Memory({ initial: 1 });
  const lanes = { words: new Int32Array(memory.buffer), reserve, pull: (simd && vectorPull()) || plainPull };
  return lanes;

  /** Room for so many bytes. What was there stays. */
  function reserve(bytes) {
    const more = Math.ceil(bytes / PAGE) - memory.buffer.byteLength / PAGE;
    if (more > 0) memory.grow(more);
    lanes.words = new Int32Array(memory.buffer);
  }

  function plainPull(row, from, to) {
    const { words } = lanes;
    const base = row >> 2;
    let less = 0;
    for (let a = from >> 2; a < to >> 2; a += 2) {
      const shift = (words[a] >> 2) - base;
      const step = words[a + 1];
      for (let at = base; at < base + 128; at++) {
        const gain = words[at + shift] + step - words[at];
        const taken = gain & (gain >> 31); // no branch: which of the two is less is chance
        less |= taken;
        words[at] += taken;
      }
    }
    return less;
  }

  function vectorPull() {
    try {
      const module = new WebAssembly.Module(Uint8Array.from(moduleBytes()));
      return new WebAssembly.Instance(module, { m: { m: memory } }).exports.f;
    } catch {
      return null; // no vectors in this browser, or a page that forbids WebAssembly
    }
  }

  /** The module: one function f(row, from, to) over an imported memory. */
  function moduleBytes() {
    const section = (id, ...content) => [id, ...whole(content.length), ...content];
    const body = [2, 3, 0x7f, 10, 0x7b, ...instructions(), 0x0b]; // locals: 3 numbers, 10 vectors
    return [
      0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
      ...section(1, 1, 0x60, 3, 0x7f, 0x7f, 0x7f, 1, 0x7f),
      ...section(2, 1, 1, 0x6d, 1, 0x6d, 2, 0, 1),
      ...section(3, 1, 0),
      ...section(7, 1, 1, 0x66, 0, 0),
      ...section(10, 1, ...whole(body.length), ...body),
    ];
  }

  /** Seven bits a byte, least first; the last byte of a positive number has its sixth bit clear. */
  function whole(value) {
    return value < 64 ? [value] : value < 8192 ? [(value & 127) | 128, value >> 7] : [(value & 127) | 128, ((value >> 7) & 127) | 128, value >> 14];
  }

  function instructions() {
    const [row, from, to, chunk, arc, place] = [0, 1, 2, 3, 4, 5];
    const [step, changed] = [14, 15];
    const eight = Array.from({ length: 8 }, (_, k) => [6 + k, 16 * k]); // a vector of four lanes, and where it lies in a chunk
    const get = (local) => [0x20, local];
    const set = (local) => [0x21, local];
    const number = (value) => [0x41, ...whole(value)];
    const plus = [0x6a];
    const vector = (code) => [0xfd, ...(code < 128 ? [code] : [(code & 127) | 128, code >> 7])];
    const load = (offset) => [...vector(0), 4, ...whole(offset)];
    const [store, splat, or, xor, any, add, least] = [[...vector(11), 4], vector(17), vector(80), vector(81), vector(83), vector(174), vector(182)];
    return [
      0x03, 0x40, // loop over chunks of 32 lanes
      ...eight.flatMap(([lane, offset]) => [...get(row), ...get(chunk), ...plus, ...load(offset), ...set(lane)]),
      ...get(from), ...set(arc),
      0x02, 0x40, 0x03, 0x40, // loop over arcs
      ...get(arc), ...get(to), 0x4f, 0x0d, 1, // until arc >= to
      ...get(arc), 0x28, 2, 0, ...get(chunk), ...plus, ...set(place),
      ...get(arc), 0x28, 2, 4, ...splat, ...set(step),
      ...eight.flatMap(([lane, offset]) => [...get(lane), ...get(place), ...load(offset), ...get(step), ...add, ...least, ...set(lane)]),
      ...get(arc), ...number(8), ...plus, ...set(arc),
      0x0c, 0, 0x0b, 0x0b,
      ...eight.flatMap(([lane, offset]) => [
        ...get(lane), ...get(row), ...get(chunk), ...plus, ...load(offset), ...xor, ...get(changed), ...or, ...set(changed),
        ...get(row), ...get(chunk), ...plus, ...get(lane), ...store, ...whole(offset),
      ]),
      ...get(chunk), ...number(128), ...plus, 0x22, chunk, ...number(ROW_BYTES), 0x49, 0x0d, 0, 0x0b,
      ...get(changed), ...any,
    ];
  }
}
