// SPDX-License-Identifier: Apache-2.0
// In the extension's own world of every frame: here, and only here, the device is asked where it is. The page is answered at whole
// multiples of a fixed delay after it asked: neither the device's search nor the drawing of a report shows in the time it took.

import { atFixedDelay, PAGE_CLOCK } from "../../client/src/delay.js";
import { api } from "./api.js";
import { exact } from "./position.js";

const DELAY_MS = 500;
/** A watch is answered at once and then at every full minute of the clock, wherever one is and whether one moves or not. */
const PAUSE_MS = 60_000;
const PATIENCE_MS = 20_000;
const DENIED = 1;
const NO_PLACE = { error: { code: 2, message: "no protected position can be given" } };

const device = navigator.geolocation;
const watches = new Map();

/** What the worker says, or a refusal if it says nothing. */
async function ask(message) {
  const answer = await Promise.race([api.runtime.sendMessage(message), PAGE_CLOCK.sleep(PATIENCE_MS)]);
  if (!answer?.position && !answer?.error && !answer?.how) return NO_PLACE;
  return answer;
}

function truePlace(options) {
  return new Promise((resolve, reject) => device.getCurrentPosition(resolve, reject, options));
}

/** What the browser itself has been told about this site; "granted" is what the person may want to take back. */
const permitted = () => navigator.permissions.query({ name: "geolocation" }).then(({ state }) => state, () => "denied");

/** Whether all frames around this one are of its own origin. */
function isAmongItsOwn() {
  try {
    for (let around = window; around !== top; around = around.parent) if (!around.parent.document) return false;
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether the browser would let this document ask at all: a frame of others must have been allowed to by those around it. Firefox does not
 * say that, but what it says of such a frame is a refusal; also if it was told to refuse the whole page, which nobody can tell apart.
 */
const mayAsk = (state) => isSecureContext && (document.featurePolicy?.allowsFeature("geolocation") ?? (state !== "denied" || isAmongItsOwn()));

/** No page that cannot be seen is told anything: browsers wait as well. */
const seen = () => new Promise((resolve) => {
  const look = () => document.hidden || resolve(document.removeEventListener("visibilitychange", look));
  document.addEventListener("visibilitychange", look);
  look();
});

async function settle(kind, options) {
  const state = await permitted();
  if (!mayAsk(state)) return { error: { code: DENIED, message: "" } };
  const told = await ask({ what: "how", kind, granted: state === "granted" });
  if (!told.how) return told;
  if (told.how === "own") {
    await seen();
    return ask({ what: "report", kind, options });
  }
  let position;
  try {
    position = await truePlace(options);
  } catch ({ code }) {
    return { error: { code: code === DENIED || code === 3 ? code : 2, message: code === DENIED ? "User denied Geolocation" : "" } };
  }
  const { latitude, longitude } = position.coords;
  if (told.how === "exact") return { position: exact(position) };
  return ask({ what: "report", kind, lat: latitude, lon: longitude });
}

function answer(kind, options) {
  return atFixedDelay(settle(kind, options).catch(() => NO_PLACE), DELAY_MS);
}

function connect(wire) {
  const reply = (id, told) => wire.dispatchEvent(new CustomEvent("answer", { detail: JSON.stringify({ id, ...told }) }));
  wire.addEventListener("ask", ({ detail }) => {
    const { id, kind, options } = JSON.parse(detail);
    if (kind === "get") answer(kind, options).then((told) => reply(id, told));
    else if (kind === "watch") watch(id, options, reply);
    else if (kind === "clear") stop(id);
  });
  wire.dispatchEvent(new CustomEvent("here"));
}

function watch(id, options, reply) {
  const look = () => {
    watches.set(id, setTimeout(look, PAUSE_MS - (Date.now() % PAUSE_MS)));
    answer("watch", options).then((told) => watches.has(id) && reply(id, told));
  };
  look();
}

function stop(id) {
  clearTimeout(watches.get(id));
  watches.delete(id);
}

// whichever of the two worlds comes first, the other hears of it
window.addEventListener("geoelastic-hello", (event) => {
  event.stopImmediatePropagation();
  if (event.relatedTarget) connect(event.relatedTarget);
});
window.dispatchEvent(new CustomEvent("geoelastic-ready"));
