// SPDX-License-Identifier: Apache-2.0
// The device checks the map it was given, and the page says in plain words what it found.

import { verify } from "../client/verify.js";
import { clearPlace } from "./place.js";
import { element, state } from "./state.js";

/** Maps up to this size are checked at once, in a second or a few; larger ones when somebody asks. */
const AT_ONCE = 20_000;

const running = { stop: null };

/** A new map: `given` are its bytes, or a mechanism that was made here. */
export function offerCheck(given, locations) {
  running.stop?.abort();
  running.stop = null;
  state.held = true;
  delete document.body.dataset.checked;
  tell("Is it true?", "Nobody has to be believed: this device can check every place and every edge of the map by itself.");
  element("check").hidden = false;
  element("check").onclick = () => runCheck(given);
  if (locations <= AT_ONCE) runCheck(given);
  else document.body.dataset.checked = "offered";
}

async function runCheck(given) {
  const stop = new AbortController();
  running.stop = stop;
  delete document.body.dataset.checked;
  const bar = element("checking");
  element("check").hidden = true;
  bar.hidden = element("stop").hidden = false;
  bar.value = 0;
  element("stop").onclick = () => stop.abort();
  tell("Checking on this device …", "Every place that can be a secret, and every edge between places.");
  const begun = performance.now();
  try {
    const { ok, claim, faults, short } = await verify(given, { require: null, signal: stop.signal, progress: (part) => (bar.value = part) });
    if (running.stop !== stop) return;
    const less = short.length > 0 ? ` It states less than maps usually do: ${short.join("; ")}.` : "";
    tell(ok ? "✓ Checked on this device: it holds" : "✗ This map does not keep its promise", `${claim}${less}`);
    if (!ok) closeMap(faults);
    Object.assign(document.body.dataset, { checked: ok ? "holds" : "fails", checkMs: Math.round(performance.now() - begun) });
  } catch (error) {
    if (running.stop !== stop) return;
    tell("Not checked", error.code === "stopped" ? "The check was stopped." : `The check failed: ${error.message}.`);
    element("check").hidden = false;
    document.body.dataset.checked = "stopped";
  } finally {
    if (running.stop === stop) bar.hidden = element("stop").hidden = true;
  }
}

/** No report from a map that was found wanting. */
function closeMap(faults) {
  Object.assign(state, { held: false, place: null });
  clearPlace();
  element("promise").open = true;
  element("centre").disabled = true;
  element("sentence").textContent = `Do not use this map: ${faults.join("; ")}.`;
}

function tell(verdict, words) {
  element("verdict").textContent = verdict;
  element("claim").textContent = words;
}
