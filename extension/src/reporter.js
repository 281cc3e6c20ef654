// SPDX-License-Identifier: Apache-2.0
// A place goes in, what a site may know comes out. All sites get the same reports: what ten of them know together is what one of them
// knows. What was told is counted, where it was told from is not kept.

import { GeoelasticError } from "../../client/src/errors.js";
import { Sticky } from "../../client/src/sticky.js";
import { Watch } from "../../client/src/watch.js";
import { api } from "./api.js";
import { openMap } from "./maps.js";
import { changeLedger, secretKey, weekOf } from "./settings.js";

const WATCHED = "watch|";
const SEEN = "seen|";
/** A live tick: what is drawn for one costs as much as a report, and counts as one. */
const TICK_S = 7200;
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** A place to keep what a watch has shown: read all at once, written as it changes. */
async function watchStore() {
  const all = await api.storage.local.get(null);
  const kept = new Map(Object.entries(all).filter(([name]) => name.startsWith(WATCHED)).map(([name, value]) => [name.slice(WATCHED.length), value]));
  return {
    get: (name) => kept.get(name) ?? null,
    set: (name, value) => {
      kept.set(name, value);
      api.storage.local.set({ [WATCHED + name]: value });
    },
  };
}

/** What was counted since the browser was started: tag -> week. */
async function seenTags() {
  return new Map(Object.entries(await api.storage.session.get(null)).filter(([name]) => name.startsWith(SEEN)));
}

/** All of a fence is one place. */
const secretName = ({ fence }, place) => (fence[place] > 0 ? `fence ${fence[place]}` : String(place));

export class Reporter {
  #maps = new Map();
  #key = null;
  #seen = null;
  #radii = new Map();
  #turn = Promise.resolve();

  /** What was opened is opened again when it is next needed: maps, fences or the key have changed. */
  reset() {
    this.#maps.clear();
    this.#radii.clear();
    this.#key = null;
    this.#seen = null;
  }

  #map(id, rings) {
    if (!this.#maps.has(id)) {
      const opening = this.#open(id, rings);
      opening.catch(() => this.#maps.delete(id));
      this.#maps.set(id, opening);
    }
    return this.#maps.get(id);
  }

  async #open(id, rings) {
    this.#key ??= secretKey();
    const [mechanism, key] = await Promise.all([openMap(id, rings), this.#key]);
    const signing = crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    let watch = null;
    return { id, mechanism, signing, sticky: new Sticky(mechanism, key), watch: () => (watch ??= watchStore().then((store) => new Watch(mechanism, { store, tickSeconds: TICK_S }))) };
  }

  /** Open the maps before anybody asks. */
  warm({ order, fences }) {
    for (const id of order) this.#map(id, fences[id]).catch(() => undefined);
  }

  /** The first map in the person's order in which the place can be hidden. */
  async #mapAt(lat, lon, { order, fences }) {
    for (const id of order) {
      const map = await this.#map(id, fences[id]);
      const cell = map.mechanism.metric.cellOf(lat, lon);
      if (cell === null) continue;
      const place = map.mechanism.metric.locate(lat, lon);
      if (map.mechanism.metric.isSecret(place)) return { map, place };
    }
    throw new GeoelasticError("outside", "no map for this place");
  }

  /** {position, region, location, fresh}; throws if nothing may be told. */
  report(lat, lon, { live, settings }) {
    // one after the other: what is fresh is counted before the next one asks
    const turn = this.#turn.then(() => this.#report(lat, lon, live, settings));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #report(lat, lon, live, settings) {
    const { map, place } = await this.#mapAt(lat, lon, settings);
    performance.mark("report: charge");
    const timeS = Date.now() / 1000;
    const fresh = await this.#charge(map, live ? `tick ${Math.floor(timeS / TICK_S)}` : secretName(map.mechanism.metric, place), settings.weekly);
    performance.mark("report: draw");
    const report = live ? (await map.watch()).see(lat, lon, timeS) : await map.sticky.reportFrom(place);
    performance.mark("report: accuracy");
    const coords = {
      latitude: report.lat, longitude: report.lon, accuracy: this.#radius(map, report.location), altitude: null, altitudeAccuracy: null,
      heading: null, speed: null,
    };
    performance.mark("report: done");
    return { position: { coords, timestamp: Date.now() }, region: map.id, location: report.location, fresh };
  }

  /** Count a report that is not a repetition, before it is drawn. Which ones were is remembered until the browser is closed, under a keyed name. */
  async #charge({ mechanism: { metric }, signing }, what, weekly) {
    const name = new TextEncoder().encode(`${SEEN}${metric.head.sticky}|${what}`);
    const tag = `${SEEN}${hex(new Uint8Array(await crypto.subtle.sign("HMAC", await signing, name)).slice(0, 12))}`;
    this.#seen ??= seenTags();
    this.#seen.catch(() => (this.#seen = null));
    const seen = await this.#seen;
    const week = weekOf(Date.now());
    if (seen.get(tag) === week) return false;
    await changeLedger((ledger) => {
      if (ledger.fresh >= weekly) throw new GeoelasticError("budget", "this week's reports are used up");
      return { ...ledger, fresh: ledger.fresh + 1 };
    });
    // after it was counted: a tag that is lost is a report counted twice
    seen.set(tag, week);
    api.storage.session.set({ [tag]: week }).catch(() => undefined);
    return true;
  }

  /** The radius of 95 % of the reports made from the *reported* place: a function of the report, so it tells no more. */
  #radius({ id, mechanism }, location) {
    const name = `${id}|${location}`;
    if (!this.#radii.has(name)) this.#radii.set(name, Math.ceil(mechanism.spread(location).radius95M));
    return this.#radii.get(name);
  }

  /** Who hides behind a report: the crowd within level ln 2 of it. */
  async crowd(id, location, { fences }) {
    const { mechanism: { metric } } = await this.#map(id, fences[id]);
    return { head: { info: metric.head.info }, ball: { ...metric.ball(location, Math.LN2), members: undefined } };
  }
}
