// SPDX-License-Identifier: Apache-2.0
// A stand-in for navigator.geolocation: same calls, but pages get reports. It fails closed: no metric, no position.

import { atFixedDelay, PAGE_CLOCK } from "./delay.js";
import { GeoelasticError } from "./errors.js";
import { Elastic } from "./mechanism.js";
import { fetchBytes } from "./metric.js";
import { Sticky } from "./sticky.js";
import { verify } from "./verify.js";
import { Watch } from "./watch.js";

const DENIED = 1;
const UNAVAILABLE = 2;
const PAUSE_MS = 60_000;
const DELAY_MS = 1000;

class GuardedGeolocation {
  #real;
  #ready;
  #pauseMs;
  #delayMs;
  #clock;
  #watches = new Map();
  #next = 1;
  #radii = new Map();
  #fixed = false;

  constructor(real, ready, { pauseMs, delayMs, clock }) {
    this.#real = real;
    this.#ready = ready;
    this.#pauseMs = pauseMs;
    this.#delayMs = delayMs;
    this.#clock = clock;
    this.#ready.catch(() => undefined); // told to whoever asks for a position, not to the console
  }

  getCurrentPosition(success, failure, options) {
    if (typeof success !== "function") throw new TypeError("getCurrentPosition needs a function to call");
    const refuse = (error) => failure?.(positionError(error));
    // nothing is asked of the device before there is a metric to hide its answer
    this.#ready.then(
      () => this.#real.getCurrentPosition((position) => this.#later(this.#answer(position)).then(success, refuse), refuse, options),
      refuse,
    );
  }

  #later(answer) {
    return atFixedDelay(answer, this.#delayMs, this.#clock);
  }

  /** Reports at a fixed pace that does not depend on where the device is or whether it moves: live ticks, or a trace later. */
  watchPosition(success, failure, options) {
    if (typeof success !== "function") throw new TypeError("watchPosition needs a function to call");
    const id = this.#next++;
    const ask = () => {
      const alive = (call) => (value) => value !== null && this.#watches.has(id) && call?.(value);
      const refuse = (error) => alive(failure)(positionError(error));
      const told = (coords) => this.#later(this.#watched(coords)).then(alive(success), refuse);
      // without a fix the last place holds: a gap must not show
      const lost = (error) => (error?.code === DENIED || !this.#fixed ? refuse(error) : told({}));
      this.#ready.then(() => this.#real.getCurrentPosition(({ coords }) => told(coords), lost, options), refuse);
    };
    this.#watches.set(id, setInterval(ask, this.#pauseMs));
    ask();
    return id;
  }

  clearWatch(id) {
    clearInterval(this.#watches.get(id));
    this.#watches.delete(id);
  }

  async #answer(position) {
    const { sticky, mechanism } = await this.#ready;
    const { latitude, longitude } = position.coords;
    return this.#position(mechanism, await sticky.report(latitude, longitude));
  }

  async #watched({ latitude, longitude }) {
    const { watch, mechanism } = await this.#ready;
    this.#fixed = true;
    const report = watch.see(latitude, longitude);
    return report && this.#position(mechanism, report);
  }

  #position(mechanism, { lat, lon, location, timeS }) {
    const coords = {
      latitude: lat, longitude: lon, accuracy: this.#accuracy(mechanism, location), altitude: null, altitudeAccuracy: null,
      heading: null, speed: null,
    };
    return { coords, timestamp: timeS === undefined ? Date.now() : timeS * 1000 };
  }

  /** The radius of 95 % of the reports made from the *reported* location: a function of the report, so it tells no more. */
  #accuracy(mechanism, location) {
    if (!this.#radii.has(location)) this.#radii.set(location, Math.ceil(mechanism.spread(location).radius95M));
    return this.#radii.get(location);
  }
}

function positionError(error) {
  const own = error instanceof GeoelasticError;
  const code = Number.isInteger(error?.code) ? error.code : UNAVAILABLE;
  const message = own || code !== UNAVAILABLE ? String(error.message ?? "") : "no protected position can be given";
  return { code, message, PERMISSION_DENIED: 1, POSITION_UNAVAILABLE: 2, TIMEOUT: 3 };
}

/**
 * Replace navigator.geolocation, at once; positions are given when the metric is there.
 * metric: the address of a `.geox` file, or an Elastic. key: 32 secret bytes that make reports the same on every visit
 * (default: a new key for this page). pauseMs: time between the reports of a watch. delayMs: time from the device's answer to
 * the page's. watch: options of what a watch shows, {mode: "ticks"} (default) or {mode: "trace"}: see `Watch`. checked: true to give no position before this device has verified the map, and none if it does not hold; or the
 * options of `verify`.
 */
export function installGeolocation({
  metric, key, user = "", pauseMs = PAUSE_MS, delayMs = DELAY_MS, watch = {}, checked = false, clock = PAGE_CLOCK, navigator = globalThis.navigator,
}) {
  const real = navigator.geolocation;
  const mechanism = checked ? verified(metric, checked === true ? {} : checked) : loaded(metric);
  const ready = mechanism.then((made) => ({
    mechanism: made, sticky: new Sticky(made, key ?? Sticky.newKey(), user), watch: new Watch(made, { user, ...watch }),
  }));
  const shim = new GuardedGeolocation(real, ready, { pauseMs, delayMs, clock });
  // on the prototype too, where the browser keeps the real one
  const described = { get: () => shim, configurable: false, enumerable: true };
  const holder = Object.getPrototypeOf(navigator);
  if (holder && Object.getOwnPropertyDescriptor(holder, "geolocation")) Object.defineProperty(holder, "geolocation", described);
  else Object.defineProperty(navigator, "geolocation", described);
  return ready.then(() => undefined);
}

async function loaded(metric) {
  return metric instanceof Elastic ? metric : Elastic.fetch(metric);
}

async function verified(metric, options) {
  const given = metric instanceof Elastic ? metric : await fetchBytes(metric);
  const { ok, faults, short } = await verify(given, options);
  if (!ok) throw new GeoelasticError("file", `the map does not keep its promise: ${[...faults, ...short].join("; ")}`);
  return given instanceof Elastic ? given : Elastic.fromBytes(given);
}
