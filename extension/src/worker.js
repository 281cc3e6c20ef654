// SPDX-License-Identifier: Apache-2.0
// The extension's worker: says how each frame is to be answered, and draws the reports. Whatever goes wrong in here, a site gets
// "position unavailable".

import { api } from "./api.js";
import { askHidden, truePosition } from "./device.js";
import { Reporter } from "./reporter.js";
import { changeLedger, forgetLedger, loadSettings } from "./settings.js";

const DENIED = { error: { code: 1, message: "User denied Geolocation" } };
const NO_PLACE = { error: { code: 2, message: "no protected position can be given" } };
/** A place that somebody chose is as good as a telephone's. */
const FIXED_ACCURACY_M = 25;

const reporter = new Reporter();
let settings = loadSettings();

// where it can be, what is kept is for the extension's own pages alone
api.storage.local.setAccessLevel?.({ accessLevel: "TRUSTED_CONTEXTS" });
api.storage.onChanged.addListener((changes, area) => {
  if (area !== "local") return;
  if (changes.settings) {
    const before = JSON.stringify([changes.settings.oldValue?.order, changes.settings.oldValue?.fences]);
    settings = loadSettings();
    if (before !== JSON.stringify([changes.settings.newValue?.order, changes.settings.newValue?.fences])) reporter.reset();
  }
  if (changes.key || changes.maps) reporter.reset();
  if (changes.ledger && !changes.ledger.newValue) forgetLedger();
});
// maps are opened before anybody asks: whenever the worker starts, and it starts with the browser
settings.then((now) => reporter.warm(now), () => undefined);
for (const begun of [api.runtime.onStartup, api.runtime.onInstalled]) begun.addListener(() => update().catch(() => undefined));

/** With the first start of the browser on or after a public day, and never when a site asks: that would tell a pack's host of it. */
async function update() {
  const { updates, own, fences } = await settings;
  if (!updates || !own) return;
  if ((await askHidden({ what: "update", fences }))?.length) await api.storage.local.set({ maps: Date.now() });
}

/** The host that asks; "" for a frame without a name of its own (sandboxed, data:). */
function hostOf({ origin, url }) {
  try {
    const named = new URL(origin && origin !== "null" ? origin : origin === "null" ? "data:," : url);
    return named.host;
  } catch {
    return "";
  }
}

function choiceFor(host, now) {
  const choice = now.sites[host] ?? now.choice;
  // who has no name cannot have been chosen for the exact place
  return choice === "exact" && host === "" ? "elastic" : choice;
}

/** How a frame is to be answered: at once, or by asking the device first. */
async function how({ granted }, sender) {
  const now = await settings;
  const host = hostOf(sender);
  const choice = choiceFor(host, now);
  if (granted) api.storage.session.set({ [`granted|${host}`]: true });
  if (now.paused || choice === "nothing") return noted(host, choice, DENIED);
  if (choice === "fixed") return noted(host, choice, now.fixed ? { position: placed(now.fixed) } : NO_PLACE);
  if (now.own) return { how: "own" };
  if (choice === "exact") noted(host, choice, { exact: true });
  return { how: choice === "exact" ? "exact" : "report" };
}

function placed([latitude, longitude]) {
  const rest = { altitude: null, altitudeAccuracy: null, heading: null, speed: null };
  return { coords: { latitude, longitude, accuracy: FIXED_ACCURACY_M, ...rest }, timestamp: Date.now() };
}

async function report({ kind, lat, lon, options }, sender) {
  const now = await settings;
  const host = hostOf(sender);
  const choice = choiceFor(host, now);
  // the choice may have changed since the device was asked
  if (now.paused || !(choice === "elastic" || choice === "live" || (choice === "exact" && now.own))) return NO_PLACE;
  try {
    const place = now.own ? await truePosition(options) : { coords: { latitude: lat, longitude: lon } };
    if (choice === "exact") {
      noted(host, choice, { exact: true });
      return { position: place };
    }
    const { latitude, longitude } = place.coords;
    const told = await reporter.report(latitude, longitude, { live: choice === "live" || kind === "watch", settings: now });
    return noted(host, choice, told);
  } catch (error) {
    return noted(host, choice, { ...NO_PLACE, why: error?.code ?? "fault" });
  }
}

/** Counts by site, on the disk; what the site got, for the popup, until the browser is closed. Never the true place. */
function noted(host, choice, { position, error, exact, fresh, region, location, why }) {
  const got = { when: Date.now(), choice, refused: error?.code, why, region, location, lat: position?.coords.latitude, lon: position?.coords.longitude };
  const counted = changeLedger((ledger) => {
    const site = ledger.sites[host] ?? { asked: 0, fresh: 0, refused: 0, exact: 0 };
    const more = { asked: 1, fresh: fresh ? 1 : 0, refused: error ? 1 : 0, exact: exact ? 1 : 0 };
    const sum = Object.fromEntries(Object.keys(more).map((name) => [name, site[name] + more[name]]));
    return { ...ledger, sites: { ...ledger.sites, [host]: sum } };
  });
  // nobody waits for the account, and one that cannot be kept keeps nobody from an answer that is protected anyway
  Promise.all([counted, api.storage.session.set({ [`got|${host}`]: got })]).catch(() => undefined);
  return error ? { error } : { position };
}

/** What the extension's own pages ask. */
async function own({ what, region, location }) {
  return what === "crowd" ? reporter.crowd(region, location, await settings) : null;
}

async function handle(message, sender) {
  if (sender.url?.startsWith(api.runtime.getURL(""))) return own(message);
  if (message.what === "how") return how(message, sender);
  if (message.what === "report") return report(message, sender);
  return NO_PLACE;
}

api.runtime.onMessage.addListener((message, sender, reply) => {
  handle(message, sender).then(reply, () => reply(NO_PLACE));
  return true; // the answer comes later
});
