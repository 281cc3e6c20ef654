// SPDX-License-Identifier: Apache-2.0
// Exact draws that look only as far as they must; the same line, darts and bits as mechanism/sampler.py.

import { Search } from "./graph.js";
import { uniformBelow } from "./random.js";

export const STEP = 8192;
const REST = 4n;
const SHELLS = 30;
const HALF_WORD = 65536;

export class Sampler {
  constructor(graph, measure, weights) {
    this.search = new Search(graph);
    this.measure = measure;
    this.weights = weights;
  }

  /** One location drawn from `source`. `total`: the measure of all that can be reached from it. */
  draw(source, total, random) {
    this.search.begin([source]);
    try {
      return new Line(this, total).throwDart(random);
    } finally {
      this.search.clear();
    }
  }

  /** Several locations drawn from one source, which share the search. */
  drawMany(source, total, random, count) {
    this.search.begin([source]);
    try {
      const line = new Line(this, total);
      return Array.from({ length: count }, () => line.throwDart(random));
    } finally {
      this.search.clear();
    }
  }
}

/** The line of one source, as far as it is known. */
class Line {
  constructor(sampler, total) {
    this.sampler = sampler;
    this.rest = total;
    this.period = sampler.weights.length;
    this.frontier = -1;
    this.counted = 0;
    this.open = true;
    // a shell's length is high x 2^16 + low: sums of products of 31 and 16 bits are exact in doubles
    this.high = [];
    this.low = [];
    this.plain = [];
    this.#toFirstFrontier();
  }

  #toFirstFrontier() {
    while (this.open) {
      this.#advance();
      let near = 0n;
      for (let k = 0; k < this.plain.length && k <= SHELLS; k++) near += BigInt(this.plain[k]) << BigInt(SHELLS - k);
      const beyond = Math.floor((this.frontier + 1) / this.period);
      if (beyond > SHELLS || REST * (BigInt(this.rest) << BigInt(SHELLS - beyond)) <= near) break;
    }
    this.first = this.#lengths();
  }

  throwDart(random) {
    for (;;) {
      let { scale } = this.first;
      let dart = uniformBelow(random, this.first.bound);
      for (;;) {
        const { known, bound, scale: finer } = this.#lengths();
        if (finer > scale) {
          const bits = BigInt(finer - scale);
          dart = (dart << bits) + uniformBelow(random, 1n << bits);
          scale = finer;
        }
        if (dart < known) return this.#location(dart, scale);
        if (dart >= bound || !this.open) break;
        this.#advance();
      }
    }
  }

  #advance() {
    const { search, measure, weights } = this.sampler;
    this.frontier += STEP;
    this.open = search.expand(this.frontier);
    for (let k = this.plain.length; k <= Math.floor(this.frontier / this.period); k++) {
      this.high.push(0);
      this.low.push(0);
      this.plain.push(0);
    }
    for (; this.counted < search.settled; this.counted++) {
      const v = search.order[this.counted];
      const shell = Math.floor(search.dist[v] / this.period);
      const weight = weights[search.dist[v] - shell * this.period];
      const top = Math.floor(weight / HALF_WORD);
      this.high[shell] += measure[v] * top;
      this.low[shell] += measure[v] * (weight - top * HALF_WORD);
      this.plain[shell] += measure[v];
      this.rest -= measure[v];
    }
  }

  #shell(k) {
    return (BigInt(this.high[k]) << 16n) + BigInt(this.low[k]);
  }

  /** What is settled, the bound of all, and the scale: both are in units of 2^-scale. */
  #lengths() {
    const scale = Math.floor((this.frontier + 1) / this.period);
    let known = 0n;
    for (let k = 0; k < this.plain.length; k++) {
      if (this.plain[k] > 0) known += this.#shell(k) << BigInt(scale - k);
    }
    const rest = this.open ? this.rest : 0;
    const place = this.frontier + 1 - scale * this.period;
    return { known, bound: known + BigInt(rest) * BigInt(this.sampler.weights[place]), scale };
  }

  #location(dart, scale) {
    for (let k = 0; k < this.plain.length; k++) {
      const length = this.#shell(k) << BigInt(scale - k);
      if (dart < length) return this.#inShell(k, dart >> BigInt(scale - k));
      dart -= length;
    }
    throw new Error("the dart lies on the settled part of the line");
  }

  /** The location at `offset` when those of a shell are laid end to end in the order (distance, number). */
  #inShell(shell, offset) {
    const { search, measure, weights } = this.sampler;
    const { dist, order, settled } = search;
    let high = Number(offset >> 16n);
    let low = Number(offset & 65535n);
    /** Whether the offset lies within `amount` x `unit`; if not, takes it off. */
    const within = (amount, unit) => {
      const top = Math.floor(unit / HALF_WORD);
      const small = amount * (unit - top * HALF_WORD);
      const carry = Math.floor(small / HALF_WORD);
      const spanHigh = amount * top + carry;
      const spanLow = small - carry * HALF_WORD;
      if (high < spanHigh || (high === spanHigh && low < spanLow)) return true;
      high -= spanHigh;
      low -= spanLow;
      if (low < 0) {
        low += HALF_WORD;
        high -= 1;
      }
      return false;
    };
    let first = 0;
    for (let end = settled; first < end; ) {
      const middle = (first + end) >> 1;
      if (dist[order[middle]] < shell * this.period) first = middle + 1;
      else end = middle;
    }
    while (first < settled) {
      const d = dist[order[first]];
      const unit = weights[d - shell * this.period];
      let end = first;
      let group = 0;
      while (end < settled && dist[order[end]] === d) group += measure[order[end++]];
      if (within(group, unit)) {
        for (const v of order.slice(first, end).sort()) if (within(measure[v], unit)) return v;
      }
      first = end;
    }
    throw new Error("the offset lies within its shell");
  }
}
