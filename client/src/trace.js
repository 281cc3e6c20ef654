// SPDX-License-Identifier: Apache-2.0
// One draw for a whole trace, bit for bit as traces/mechanism.py: products and sums of doubles in one fixed order, draws
// in whole numbers. docs/traces.md has the theorem, and what rounding costs.

import { GeoelasticError } from "./errors.js";
import { components, UNREACHABLE } from "./graph.js";
import { SystemRandom, uniformBelow } from "./random.js";
import { makeWeights } from "./weights.js";

const BLOCK = 512;
const FLOOR_SHELLS = 600;
const LEAST_SUM = 2 ** -64;
const RAISE = 2 ** 64;
const LEAST_SEGMENT = 32;
const KEPT_BACK = [255, 256];

/** What was released before: seconds by location, and the last one. It never sees a true place. */
export class Habit {
  constructor(seconds = new Map(), last = null) {
    this.seconds = seconds;
    this.last = last;
  }

  after(released, secondsEach) {
    const seconds = new Map(this.seconds);
    let { last } = this;
    for (last of released) seconds.set(last, (seconds.get(last) ?? 0) + secondsEach);
    return new Habit(seconds, last);
  }

  toJSON() {
    return { seconds: [...this.seconds], last: this.last };
  }

  static fromJSON({ seconds, last }) {
    return new Habit(new Map(seconds), last);
  }
}

export class TraceMechanism {
  /** `rate` is [numerator, denominator] an hour. `elastic`: an Elastic, or a Metric. */
  constructor(elastic, { rate = [1, 2], stepSeconds = 600, movesPerDay = 2, habit = 0.5, blockHours = 24, onLast = 0 } = {}) {
    this.metric = elastic.metric ?? elastic;
    this.stepSeconds = stepSeconds;
    this.jump = (movesPerDay * stepSeconds) / 86400;
    if (!Number.isInteger(stepSeconds) || !(stepSeconds > 0) || !(this.jump > 0 && this.jump <= 0.5) || !(habit >= 0 && habit < 1)) {
      throw new GeoelasticError("input", "a trace needs whole seconds a step, at most one move in two steps and a habit in [0, 1)");
    }
    this.habit = habit;
    this.onLast = onLast;
    this.blockSteps = Math.max(1, Math.floor((blockHours * 3600) / stepSeconds));
    this.twiceBeta = ((rate[0] / rate[1]) * stepSeconds) / 3600;
    this.#requireRoom();
    this.table = makeWeights(rate[0] * stepSeconds * KEPT_BACK[0], rate[1] * 7200 * KEPT_BACK[1]);
    const outside = components(this.metric.graph);
    this.parts = Int32Array.from(outside, (part, i) => (this.metric.fence[i] > 0 ? -this.metric.fence[i] : part));
  }

  /** Rounding must cost less than what was kept back for it: traces/rounding.py. */
  #requireRoom() {
    const roundings = this.blockSteps * (Math.ceil(this.metric.n / BLOCK) + BLOCK + 1);
    if (!(this.twiceBeta <= 2 && this.twiceBeta >= 2 ** -13 && roundings * 1.001 <= 2 ** 30 * this.twiceBeta)) {
      throw new GeoelasticError("input", "this rate and step cannot be released exactly enough: take other steps or shorter blocks");
    }
  }

  /** One released location and cell a step for one true location a step; `past` is a Habit. */
  release(places, past = new Habit(), random = new SystemRandom()) {
    if (!places.length) throw new GeoelasticError("input", "a trace must have at least one step");
    if (!places.every((i) => this.metric.isSecret(i))) throw new GeoelasticError("frame", "the place is in the map's frame: it cannot be hidden there");
    const drawn = [];
    let habit = past;
    for (const { first, last, goesOn } of this.pieces(places)) {
      const piece = places.slice(first, last);
      if (this.metric.fence[piece[0]] > 0) {
        const told = this.#inFence(piece[0], random);
        for (let t = first; t < last; t++) drawn.push(told);
        continue;
      }
      const released = this.passes(piece, habit, goesOn ? drawn[first - 1] : null).draw(random);
      drawn.push(...released);
      habit = habit.after(released, this.stepSeconds);
    }
    return { location: drawn, cells: this.#cells(drawn, random), habit };
  }

  /** A new piece at each block's start and wherever a part of the map is entered or left. */
  pieces(places) {
    const cuts = [0];
    for (let t = 1; t < places.length; t++) {
      if (t % this.blockSteps === 0 || this.parts[places[t]] !== this.parts[places[t - 1]]) cuts.push(t);
    }
    return cuts.map((first, k) => ({
      first,
      last: cuts[k + 1] ?? places.length,
      goesOn: first > 0 && this.parts[places[first]] === this.parts[places[first - 1]],
    }));
  }

  passes(piece, habit, before) {
    const rows = new Map();
    for (const place of piece) {
      if (!rows.has(place)) rows.set(place, this.metric.distanceUnits(place));
    }
    return new Passes(piece, rows, this.table, this.#jumps(this.parts[piece[0]], habit), 1 - this.jump, before);
  }

  /** jump x m(z): the measure's share and that of earlier releases. */
  #jumps(part, habit) {
    const { n, measure } = this.metric;
    const jumps = new Float64Array(n);
    let total = 0;
    let known = 0;
    for (let z = 0; z < n; z++) {
      if (this.parts[z] !== part) continue;
      total += measure[z];
      known += habit.seconds.get(z) ?? 0;
    }
    if (!(total > 0)) throw new GeoelasticError("input", "nothing that can be reached from the trace may be reported");
    for (let z = 0; z < n; z++) {
      if (this.parts[z] !== part) continue;
      let share = measure[z] / total;
      if (known > 0) {
        let usual = (habit.seconds.get(z) ?? 0) / known;
        if (this.onLast > 0 && habit.last !== null) usual = (1 - this.onLast) * usual + this.onLast * (z === habit.last ? 1 : 0);
        share = (1 - this.habit) * share + this.habit * usual;
      }
      jumps[z] = this.jump * share;
    }
    return jumps;
  }

  #inFence(place, random) {
    const { fence, leaves } = this.metric;
    let cells = 0;
    for (let j = 0; j < fence.length; j++) if (fence[j] === fence[place]) cells += leaves.size[j] ** 2;
    let offset = Number(uniformBelow(random, BigInt(cells)));
    for (let j = 0; ; j++) {
      if (fence[j] !== fence[place]) continue;
      if (offset < leaves.size[j] ** 2) return j;
      offset -= leaves.size[j] ** 2;
    }
  }

  /** [row, col] of each step: a cell drawn evenly, the same as long as the location is. */
  #cells(drawn, random) {
    const { row, col, size } = this.metric.leaves;
    let cell;
    return drawn.map((location, t) => {
      if (t === 0 || location !== drawn[t - 1]) {
        const side = size[location];
        const place = side > 1 ? Number(uniformBelow(random, BigInt(side * side))) : 0;
        cell = [row[location] + Math.floor(place / side), col[location] + (place % side)];
      }
      return cell;
    });
  }
}

/** Forward filtering and backward sampling over one piece: traces/passes.py. */
class Passes {
  constructor(places, rows, table, jump, keep, before) {
    Object.assign(this, { places, rows, table, jump, keep });
    this.length = Math.max(LEAST_SEGMENT, Math.floor(Math.sqrt(places.length)));
    const start = new Float64Array(jump.length);
    if (before !== null) start[before] = 1;
    this.kept = [[start, 1]];
    const count = Math.ceil(places.length / this.length);
    for (let k = 0; k < count; k++) {
      this.last = this.#segment(k);
      const end = this.last.steps.length - 1;
      if (k + 1 < count) this.kept.push([this.last.steps[end], this.last.sums[end]]);
    }
  }

  draw(random) {
    const steps = this.places.length;
    const drawn = new Array(steps);
    let segment = this.last;
    let z = drawFrom(segment.steps[steps - 1 - segment.first], random);
    drawn[steps - 1] = z;
    for (let t = steps - 2; t >= 0; t--) {
      if (t < segment.first) segment = this.#segment(Math.floor(t / this.length));
      const row = segment.steps[t - segment.first];
      const [stay, move] = wholeNumbers([this.keep * row[z], this.jump[z] * segment.sums[t - segment.first]]);
      if (uniformBelow(random, stay + move) >= stay) z = drawFrom(row, random);
      drawn[t] = z;
    }
    return drawn;
  }

  #segment(k) {
    const first = k * this.length;
    const places = this.places.slice(first, first + this.length);
    const weights = new Map();
    for (const place of places) if (!weights.has(place)) weights.set(place, rowWeights(this.rows.get(place), this.table));
    let [before, total] = this.kept[k];
    const steps = [];
    const sums = [];
    for (const place of places) {
      const row = new Float64Array(this.jump.length);
      total = filterStep(before, total, weights.get(place), this.jump, this.keep, row);
      steps.push(row);
      sums.push(total);
      before = row;
    }
    return { first, steps, sums };
  }
}

function filterStep(before, total, w, jump, keep, row) {
  const n = jump.length;
  let sum = 0;
  for (let first = 0; first < n; first += BLOCK) {
    let block = 0;
    const end = Math.min(first + BLOCK, n);
    for (let z = first; z < end; z++) {
      const value = (keep * before[z] + jump[z] * total) * w[z];
      row[z] = value;
      block += value;
    }
    sum += block;
  }
  while (sum < LEAST_SUM) {
    for (let z = 0; z < n; z++) row[z] *= RAISE;
    sum *= RAISE;
  }
  return sum;
}

function rowWeights(units, table) {
  const halves = new Float64Array(FLOOR_SHELLS + 1);
  halves[0] = 1 / table[0];
  for (let k = 0; k < FLOOR_SHELLS; k++) halves[k + 1] = halves[k] * 0.5;
  const weights = new Float64Array(units.length);
  for (let z = 0; z < units.length; z++) {
    if (units[z] === UNREACHABLE) continue;
    const shell = Math.floor(units[z] / table.length);
    weights[z] = shell >= FLOOR_SHELLS ? table[0] * halves[FLOOR_SHELLS] : table[units[z] - shell * table.length] * halves[shell];
  }
  return weights;
}

function drawFrom(row, random) {
  const sums = [];
  for (let first = 0; first < row.length; first += BLOCK) {
    let block = 0;
    for (let z = first; z < Math.min(first + BLOCK, row.length); z++) block += row[z];
    sums.push(block);
  }
  const first = drawIndex(sums, random) * BLOCK;
  return first + drawIndex(row.subarray(first, first + BLOCK), random);
}

function drawIndex(values, random) {
  const whole = wholeNumbers(values);
  let dart = uniformBelow(random, whole.reduce((sum, part) => sum + part, 0n));
  for (let k = 0; ; k++) {
    if (dart < whole[k]) return k;
    dart -= whole[k];
  }
}

const view = new DataView(new ArrayBuffer(8));

/** BigInts in exactly the proportions of doubles that are not negative, the least of them with 53 bits. */
function wholeNumbers(values) {
  const exponents = [];
  const mantissas = [];
  let least = Infinity;
  for (const value of values) {
    view.setFloat64(0, value);
    const bits = view.getBigUint64(0);
    const exponent = Number(bits >> 52n) - 1022;
    exponents.push(exponent);
    mantissas.push(value > 0 ? (bits & 0xfffffffffffffn) | 0x10000000000000n : 0n);
    if (value > 0 && exponent < least) least = exponent;
  }
  return mantissas.map((mantissa, k) => (mantissa === 0n ? 0n : mantissa << BigInt(exponents[k] - least)));
}

/** Live reports: one per tick of a public clock, drawn around earlier ones; between ticks the last one stands. */
export class LiveTrace {
  #traces;
  #tick = null;
  #report = null;

  constructor(elastic, { rate = [1, 2], tickSeconds = 7200, habit = 0.5, past = new Habit() } = {}) {
    const movesPerDay = (0.25 * 1440) / (tickSeconds / 60);
    this.#traces = new TraceMechanism(elastic, {
      rate, stepSeconds: tickSeconds, movesPerDay, habit, blockHours: tickSeconds / 60 / 60, onLast: 0.5,
    });
    this.habit = past;
    this.tickSeconds = tickSeconds;
  }

  /** What others see at `timeS` (seconds since 1970) of who is at location `i`. */
  report(i, timeS = Date.now() / 1000, random = new SystemRandom()) {
    const now = Math.floor(timeS / this.tickSeconds);
    if (this.#report === null || now !== this.#tick) {
      const { location, cells, habit } = this.#traces.release([i], this.habit, random);
      const [row, col] = cells[0];
      const [lat, lon] = this.#traces.metric.cellToLatLon(row, col);
      [this.#report, this.#tick, this.habit] = [{ lat, lon, location: location[0], row, col }, now, habit];
    }
    return this.#report;
  }

  /** Reports and nothing of the truth: to be kept, and given to `resume`. */
  state() {
    return { tick: this.#tick, report: this.#report, habit: this.habit.toJSON() };
  }

  resume({ tick, report, habit }) {
    [this.#tick, this.#report, this.habit] = [tick, report, Habit.fromJSON(habit)];
  }
}
