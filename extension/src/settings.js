// SPDX-License-Identifier: Apache-2.0
// What a person chose, and the account of what was told: all that is kept on the disk besides maps. No true place is in it but those
// that the person saved: fences and the fixed place.

import { api } from "./api.js";

/** In the order in which they are offered; the first is the default. */
export const CHOICES = {
  elastic: "a protected position", live: "a protected position that follows me", fixed: "a place that I chose", exact: "my exact position",
  nothing: "nothing",
};
export const WEEK_MS = 7 * 24 * 3600 * 1000;
/** Fresh reports a week; places that are ln 2 apart cost ln 2 each. */
const WEEKLY = 60;
const KEY_BYTES = 32;

const FIRST = { choice: "elastic", sites: {}, paused: false, fixed: null, weekly: WEEKLY, order: [], fences: {}, updates: false };

function isPlace(value) {
  return Array.isArray(value) && value.length === 2 && Math.abs(value[0]) <= 90 && Math.abs(value[1]) <= 180;
}

/** Settings as they may be: what is damaged becomes what is safe. */
export function soundSettings(kept) {
  const given = kept !== null && typeof kept === "object" ? kept : {};
  const choices = Object.keys(CHOICES);
  const sites = Object.entries(given.sites ?? {}).map(([host, choice]) => [host, choices.includes(choice) ? choice : "elastic"]);
  return {
    ...FIRST, choice: choices.includes(given.choice) ? given.choice : "elastic", sites: Object.fromEntries(sites), paused: given.paused === true,
    fixed: isPlace(given.fixed) ? given.fixed : null, weekly: given.weekly >= 1 && given.weekly <= 10_000 ? Math.floor(given.weekly) : WEEKLY,
    order: Array.isArray(given.order) ? given.order.filter((id) => typeof id === "string") : [],
    fences: given.fences !== null && typeof given.fences === "object" ? given.fences : {}, updates: given.updates === true, own: given.own !== false,
  };
}

export async function loadSettings() {
  return soundSettings((await api.storage.local.get("settings")).settings);
}

/** Change the settings by a function of what they are; one change after the other. */
export async function changeSettings(change) {
  const act = async () => {
    const settings = await loadSettings();
    const changed = soundSettings({ ...settings, ...change(settings) });
    await api.storage.local.set({ settings: changed });
    return changed;
  };
  return globalThis.navigator?.locks ? navigator.locks.request("settings", act) : act();
}

/** The secret by which the same place gives the same report: made once, kept until everything is deleted. */
export async function secretKey() {
  const act = async () => {
    const { key } = await api.storage.local.get("key");
    if (Array.isArray(key) && key.length === KEY_BYTES) return Uint8Array.from(key);
    const made = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
    await api.storage.local.set({ key: [...made] });
    return made;
  };
  return globalThis.navigator?.locks ? navigator.locks.request("key", act) : act();
}

/** The number of the week: a public clock, the same for everybody. */
export function weekOf(time) {
  return Math.floor(time / WEEK_MS);
}

/** {week, fresh, sites: {host: {asked, fresh, refused, day}}}: counts, no places. */
export async function loadLedger(now = Date.now()) {
  return ofThisWeek((await api.storage.local.get("ledger")).ledger, now);
}

function ofThisWeek(ledger, now) {
  const week = weekOf(now);
  return ledger?.week === week ? ledger : { week, fresh: 0, sites: {} };
}

let held = null;

/** Change the account; `change` returns what is new, at once. Only the worker does this, so it reads it once and holds it; done when it is on the disk. */
export async function changeLedger(change) {
  held ??= loadLedger().then((ledger) => ({ ledger }));
  held.catch(forgetLedger);
  const mine = await held;
  mine.ledger = change(ofThisWeek(mine.ledger, Date.now()));
  await api.storage.local.set({ ledger: mine.ledger });
}

/** Somebody deleted it. */
export const forgetLedger = () => (held = null);
