// SPDX-License-Identifier: Apache-2.0
// Fences: drawn with a pointer or by keyboard, or suggested around a place; carved on the device.

import { carveFence } from "../client/carve.js";
import { Elastic } from "../client/mechanism.js";
import { sharpen } from "../client/sharpen.js";
import { ringAround } from "./ring.js";
import { element, say, state, views } from "./state.js";
import { amount } from "./words.js";

/* global L */

/** Begin to draw, or close what was drawn. `carved` is told of the mechanism with the fence in it. */
export function toggleDrawing(carved) {
  if (state.ring) {
    closeRing(carved);
    return;
  }
  const { map } = views.first;
  state.ring = { ring: [], line: L.polygon([], { color: "#c8283c", interactive: false }).addTo(map) };
  map.doubleClickZoom.disable();
  map.getContainer().classList.add("drawing");
  element("draw").textContent = "Close the fence";
  element("draw").setAttribute("aria-pressed", "true");
  say("Click the corners; a double click or Enter closes the fence, Backspace takes a corner back, Escape gives up. By keyboard: the space bar sets a corner in the middle of the map.");
}

export function addCorner({ lat, lng }) {
  state.ring.ring.push([lat, lng]);
  state.ring.line.setLatLngs(state.ring.ring);
}

/** The click that ends a double click has set a corner where there was one already. */
export function closeByDoubleClick(carved) {
  const { ring } = state.ring;
  const same = (a, b) => a && b && a[0] === b[0] && a[1] === b[1];
  while (same(ring.at(-1), ring.at(-2))) ring.pop();
  closeRing(carved);
}

/** Keys while a fence is drawn; true if this was one of them. */
export function drawingKey({ key, target }, carved) {
  if (!state.ring) return false;
  const button = target instanceof HTMLButtonElement;
  if (key === "Escape") {
    endDrawing();
    say("No fence was drawn.");
  } else if (key === "Enter" && !button) closeRing(carved);
  else if (key === " " && !button) addCorner(views.first.map.getCenter());
  else if (key === "Backspace") {
    state.ring.ring.pop();
    state.ring.line.setLatLngs(state.ring.ring);
  } else return false;
  return true;
}

function closeRing(carved) {
  const { ring } = state.ring;
  if (ring.length < 3) {
    say(`A fence needs at least three corners; this one has ${ring.length}.`);
    if (ring.length === 0) endDrawing();
    return;
  }
  endDrawing();
  carve(ring, carved);
}

function endDrawing() {
  const { map } = views.first;
  state.ring.line.remove();
  state.ring = null;
  // a double click that closed the fence must not also zoom
  setTimeout(() => map.doubleClickZoom.enable());
  map.getContainer().classList.remove("drawing");
  element("draw").textContent = "Draw a fence";
  element("draw").setAttribute("aria-pressed", "false");
}

export function fenceAround(carved) {
  carve(ringAround(state.mechanism.metric, state.latlng), carved);
}

function carve(ring, carved) {
  say("Carving …");
  setTimeout(() => {
    const begun = performance.now();
    try {
      const { metric, cells, checked, changed } = carveFence(state.mechanism.metric, ring);
      carved(new Elastic(metric));
      const took = ((performance.now() - begun) / 1000).toFixed(1);
      const half = metric.heightBefore ? " Reports are further off until the map is sharpened again; that has begun." : "";
      say(`${amount(cells)} cells are one place now. ${amount(checked)} places around were checked again, ${amount(changed)} of them blurred a little more to keep their crowd (${took} s). The fence was sent nowhere.${half}`);
      Object.assign(document.body.dataset, { fenced: cells, checkedAgain: checked });
      if (metric.heightBefore) sharpenAgain(metric, carved);
    } catch (error) {
      say(`This fence cannot be carved: ${error.message}.`);
    }
  });
}

/** In the background, unless another map was chosen meanwhile: reports go by half until it is done. */
async function sharpenAgain(metric, carved) {
  const current = () => state.mechanism?.metric === metric;
  const stop = new AbortController();
  const watch = setInterval(() => current() || stop.abort(), 500);
  try {
    const mechanism = await sharpen(state.mechanism, { signal: stop.signal });
    if (!current()) return;
    carved(mechanism);
    say("Sharpened again around the fence, and checked: reports are as near as the promise allows.");
    document.body.dataset.sharpened = "yes";
  } catch (error) {
    if (current()) say(`Reports stay by half of each distance: ${error.message}.`);
  } finally {
    clearInterval(watch);
  }
}
