// SPDX-License-Identifier: Apache-2.0
// What a page that watches gets to see: live ticks, or a trace that comes later and errs far less. What was shown before (the
// habit) and what it cost are kept in the browser's own storage; true places are kept nowhere.

import { GeoelasticError } from "./errors.js";
import { Habit, LiveTrace, TraceMechanism } from "./trace.js";

const HOUR_S = 3600;

/** The browser's own storage, if the page may have it; else memory. */
export function pageStore() {
  try {
    const storage = globalThis.localStorage;
    storage.setItem("geoelastic", "");
    return { get: (key) => storage.getItem(key), set: (key, value) => storage.setItem(key, value) };
  } catch {
    const kept = new Map();
    return { get: (key) => kept.get(key) ?? null, set: (key, value) => kept.set(key, value) };
  }
}

/** The nearest location that can be a secret: an error at the border of a map would tell that one is there. */
export function nearestSecret(metric, lat, lon) {
  const cell = metric.cellOf(lat, lon);
  const here = cell && metric.leafAt(cell);
  if (cell && metric.isSecret(here)) return here;
  const [x, y] = metric.projection.toXY(lat, lon);
  let best = -1;
  let least = Infinity;
  for (let i = 0; i < metric.n; i++) {
    const [a, b] = metric.xy(i);
    const away = Math.hypot(a - x, b - y);
    if (away < least && metric.isSecret(i)) [best, least] = [i, away];
  }
  if (best < 0) throw new GeoelasticError("outside", "the place is too far from the map");
  return best;
}

export class Watch {
  #mechanism;
  #store;
  #key;
  #rate;
  #place = null;
  #live;
  #traces;
  #seen = [];
  #shown = [];
  #step = null;
  #block = null;

  /** mode: "ticks", one report every `tickSeconds`; "trace", steps of `stepSeconds` that are shown `blockHours` later. */
  constructor(mechanism, { mode = "ticks", rate = [1, 2], tickSeconds = 7200, stepSeconds = 600, blockHours = 8, store = pageStore(), user = "" } = {}) {
    this.#mechanism = mechanism;
    this.#store = store;
    this.#rate = rate[0] / rate[1];
    this.#key = `geoelastic|${mechanism.metric.head.sticky}|${user}`;
    const kept = this.#kept();
    const past = kept.habit ? Habit.fromJSON(kept.habit) : new Habit();
    if (mode === "ticks") {
      this.#live = new LiveTrace(mechanism, { rate, tickSeconds, past });
      if (kept.live) this.#live.resume(kept.live);
    } else if (mode === "trace") {
      this.#traces = new TraceMechanism(mechanism, { rate, stepSeconds, blockHours });
      this.habit = past;
    } else throw new GeoelasticError("input", `'watch' must be "ticks" or "trace", got ${JSON.stringify(mode)}`);
  }

  /** What the page sees at `timeS` of who is at (lat, lon), or was last seen elsewhere; null while there is nothing to show. */
  see(lat, lon, timeS = Date.now() / 1000, random = undefined) {
    if (lat !== undefined) this.#place = nearestSecret(this.#mechanism.metric, lat, lon);
    if (this.#place === null) return null;
    return this.#live ? this.#tick(timeS, random) : this.#later(timeS, random);
  }

  /** What the reports of the last `hours` cost towards places `level` apart. */
  spent(level = Math.LN2, hours = Infinity, timeS = Date.now() / 1000) {
    const since = Math.floor(timeS / HOUR_S) - hours;
    let width = 0;
    for (const [hour, part] of this.#kept().widths ?? []) if (hour >= since) width += part;
    return width * level;
  }

  #tick(timeS, random) {
    const before = JSON.stringify(this.#live.state());
    const report = this.#live.report(this.#place, timeS, random);
    const live = this.#live.state();
    if (JSON.stringify(live) !== before) this.#keep({ live, habit: this.#live.habit.toJSON() }, timeS, this.#live.tickSeconds);
    return report;
  }

  /** Steps are seen on a public clock, a block of them is released at its end and shown at the pace it was seen. */
  #later(timeS, random) {
    const { stepSeconds, blockSteps, metric } = this.#traces;
    const now = Math.floor(timeS / stepSeconds);
    const block = Math.floor(now / blockSteps);
    const first = this.#step ?? now;
    for (let step = first; step <= now; step++) {
      if (this.#block !== null && Math.floor(step / blockSteps) > this.#block) this.#release(timeS, random);
      this.#block = Math.floor(step / blockSteps);
      this.#seen[step - this.#block * blockSteps] = this.#place;
    }
    this.#step = now + 1;
    this.#block = block;
    const shown = this.#shown.find((told) => told.step === now - blockSteps);
    if (!shown) return null;
    const [lat, lon] = metric.cellToLatLon(...shown.cell);
    return { lat, lon, location: shown.location, row: shown.cell[0], col: shown.cell[1], timeS: shown.step * stepSeconds };
  }

  #release(timeS, random) {
    const { stepSeconds, blockSteps } = this.#traces;
    // before the first fix of a block one was where one was first seen
    const places = Array.from({ length: blockSteps }, (_, k) => this.#seen[k] ?? this.#seen.find((place) => place !== undefined));
    this.#keep({}, timeS, blockSteps * stepSeconds); // charged before it is drawn
    const { location, cells, habit } = this.#traces.release(places, this.habit, random);
    this.#shown = location.map((z, k) => ({ step: this.#block * blockSteps + k, location: z, cell: cells[k] }));
    this.#seen = [];
    this.habit = habit;
    this.#keep({ habit: habit.toJSON() }, timeS, 0);
  }

  #kept() {
    try {
      return JSON.parse(this.#store.get(this.#key)) ?? {};
    } catch {
      return {};
    }
  }

  #keep(more, timeS, seconds) {
    const widths = new Map(this.#kept().widths ?? []);
    const hour = Math.floor(timeS / HOUR_S);
    if (seconds > 0) widths.set(hour, (widths.get(hour) ?? 0) + (this.#rate * seconds) / HOUR_S);
    this.#store.set(this.#key, JSON.stringify({ ...this.#kept(), ...more, widths: [...widths] }));
  }
}
