// SPDX-License-Identifier: Apache-2.0
// Leaves of a layout and the neighbour graph between them. Whole numbers only: the same as in Python, bit for bit.

import { GeoelasticError } from "./errors.js";

/** South-west cells and sides of the leaves whose exponents are listed in Z-order (see docs/format.md). */
export function unpackLeaves(rows, cols, exponents) {
  const n = exponents.length;
  const row = new Int32Array(n);
  const col = new Int32Array(n);
  const size = Int32Array.from(exponents, (k) => 1 << k);
  let root = 0;
  while (1 << root < Math.max(rows, cols)) root++;
  const stack = [[0, 0, root]];
  let at = 0;
  while (stack.length > 0) {
    const [r, c, k] = stack.pop();
    if (r >= rows || c >= cols) continue;
    if (at >= n || exponents[at] > k) throw new GeoelasticError("file", "the layout does not tile its grid");
    if (exponents[at] === k && r + (1 << k) <= rows && c + (1 << k) <= cols) {
      row[at] = r;
      col[at] = c;
      at++;
      continue;
    }
    if (k === 0) throw new GeoelasticError("file", "the layout does not tile its grid");
    const half = 1 << (k - 1);
    for (let quarter = 3; quarter >= 0; quarter--) stack.push([r + half * (quarter >> 1), c + half * (quarter & 1), k - 1]);
  }
  if (at !== n) throw new GeoelasticError("file", "the layout does not tile its grid");
  return { row, col, size };
}

/** One leaf per cell, row by row. */
export function uniformLeaves(rows, cols) {
  const n = rows * cols;
  return {
    row: Int32Array.from({ length: n }, (_, i) => Math.floor(i / cols)),
    col: Int32Array.from({ length: n }, (_, i) => i % cols),
    size: new Int32Array(n).fill(1),
  };
}

/** The leaf of each cell, row by row. */
export function paintOwner(rows, cols, { row, col, size }) {
  const owner = new Int32Array(rows * cols).fill(-1);
  for (let i = 0; i < row.length; i++) {
    for (let r = row[i]; r < row[i] + size[i]; r++) owner.fill(i, r * cols + col[i], r * cols + col[i] + size[i]);
  }
  return owner;
}

/** The leaf of one cell, without painting. */
export function findLeaf({ row, col, size }, r, c) {
  for (let i = 0; i < row.length; i++) if (row[i] <= r && r < row[i] + size[i] && col[i] <= c && c < col[i] + size[i]) return i;
  return -1;
}

/** Compressed rows {start, index} of the leaves that share a side or a corner, in increasing order. */
export function touchingLeaves(rows, cols, owner, { row, col, size }) {
  const n = row.length;
  const start = new Int32Array(n + 1);
  const index = new Grower();
  const seen = new Int32Array(n).fill(-1);
  for (let i = 0; i < n; i++) {
    const first = index.length;
    for (let r = row[i] - 1; r <= row[i] + size[i]; r++) {
      if (r < 0 || r >= rows) continue;
      const step = r === row[i] - 1 || r === row[i] + size[i] ? 1 : size[i] + 1;
      for (let c = col[i] - 1; c <= col[i] + size[i]; c += step) {
        if (c < 0 || c >= cols) continue;
        const leaf = owner[r * cols + c];
        if (seen[leaf] === i) continue;
        seen[leaf] = i;
        index.push(leaf);
      }
    }
    index.sortFrom(first);
    start[i + 1] = index.length;
  }
  return { start, index: index.done() };
}

/** floor(2^8 x distance of two centres in half cells); the argument is below 2^52, so the floor is exact. */
export function centreDistance({ row, col, size }, a, b) {
  const dy = 2 * row[a] + size[a] - (2 * row[b] + size[b]);
  const dx = 2 * col[a] + size[a] - (2 * col[b] + size[b]);
  return Math.floor(Math.sqrt((dx * dx + dy * dy) * 65536));
}

/** floor(distance) of the places of neighbours on a redrawn map, in half cells with 8 fractional bits. */
export function lengthsBetween({ start, index }, { east, north }) {
  const length = new Int32Array(index.length);
  for (let i = 0; i + 1 < start.length; i++) {
    for (let a = start[i]; a < start[i + 1]; a++) {
      const dx = east[i] - east[index[a]];
      const dy = north[i] - north[index[a]];
      length[a] = Math.floor(Math.sqrt(dx * dx + dy * dy));
    }
  }
  return length;
}

/**
 * Compressed rows {start, index, length} of the neighbour graph: leaves that touch, and leaves that touch these unless some
 * leaf between makes a detour of at most 1/32. Leaves of a fence (fence > 0) have no neighbours.
 */
export function neighbourGraph(leaves, touching, fence) {
  const n = leaves.row.length;
  const { start: from, index: near } = touching;
  const start = new Int32Array(n + 1);
  const index = new Grower();
  const seen = new Int32Array(n).fill(-1);
  for (let i = 0; i < n; i++) {
    const first = index.length;
    if (fence[i] === 0) {
      seen[i] = i;
      let even = true;
      for (let a = from[i]; a < from[i + 1]; a++) {
        seen[near[a]] = i;
        even &&= leaves.size[near[a]] === leaves.size[i];
        if (fence[near[a]] === 0) index.push(near[a]);
      }
      for (let a = from[i]; a < from[i + 1]; a++) {
        for (let b = from[near[a]]; b < from[near[a] + 1]; b++) {
          const k = near[b];
          if (seen[k] === i) continue;
          seen[k] = i;
          if (fence[k] > 0) continue;
          const lone = even && leaves.size[k] === leaves.size[i];
          if (lone ? isKnightsMove(leaves, i, k) : !hasShortDetour(leaves, from, near, i, k)) index.push(k);
        }
      }
      index.sortFrom(first);
    }
    start[i + 1] = index.length;
  }
  const targets = index.done();
  const length = new Int32Array(targets.length);
  for (let i = 0; i < n; i++) {
    for (let a = start[i]; a < start[i + 1]; a++) length[a] = centreDistance(leaves, i, targets[a]);
  }
  return { start, index: targets, length };
}

/** Among equal squares, two steps apart: only (1, 2) and its turns have no short detour. */
function isKnightsMove({ row, col, size }, i, k) {
  return Math.abs(row[i] - row[k]) + Math.abs(col[i] - col[k]) === 3 * size[i];
}

/** Whether some leaf that touches both makes a detour of at most 1/32; both rows are in increasing order. */
function hasShortDetour(leaves, from, near, i, k) {
  const direct = centreDistance(leaves, i, k);
  let c = from[i];
  let d = from[k];
  while (c < from[i + 1] && d < from[k + 1]) {
    if (near[c] < near[d]) c++;
    else if (near[c] > near[d]) d++;
    else {
      const detour = centreDistance(leaves, i, near[c]) + centreDistance(leaves, near[c], k);
      if (32 * detour <= 33 * direct) return true;
      c++;
      d++;
    }
  }
  return false;
}

/** A list of 32-bit integers of unknown length. */
class Grower {
  constructor() {
    this.values = new Int32Array(1 << 16);
    this.length = 0;
  }

  push(value) {
    if (this.length === this.values.length) {
      const larger = new Int32Array(2 * this.values.length);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.length++] = value;
  }

  sortFrom(first) {
    // rows are short: insertion beats the general sort by far
    const { values, length } = this;
    for (let k = first + 1; k < length; k++) {
      const value = values[k];
      let j = k - 1;
      for (; j >= first && values[j] > value; j--) values[j + 1] = values[j];
      values[j + 1] = value;
    }
  }

  done() {
    return this.values.slice(0, this.length);
  }
}
