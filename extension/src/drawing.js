// SPDX-License-Identifier: Apache-2.0
// The map of the options page: crowds in colour, fences, outlines of regions, and a fence that is being drawn. It loads nothing.

import { makeContext, placeContext } from "../../src/geoelastic/service/static/context.js";
import { makeField } from "../../src/geoelastic/service/static/field.js";
import { ringAround } from "../../src/geoelastic/service/static/ring.js";

/* global L */

const RED = "#c8283c";

export function makeDrawing({ say, fence, fix }) {
  const map = L.map("map", { zoomSnap: 0.25, zoomAnimation: false, fadeAnimation: false, preferCanvas: true }).setView([20, 0], 2);
  map.attributionControl.setPrefix(false);
  L.control.scale({ imperial: false }).addTo(map);
  const state = { map, say, fence, metric: null, shown: null, chosen: null, ring: null, line: null };
  const field = makeField(1).addTo(map);
  const context = makeContext(2).addTo(map);
  const signs = L.layerGroup().addTo(map);
  const borders = L.layerGroup().addTo(map);

  map.on("click", ({ latlng: { lat, lng } }) => {
    if (state.ring) addCorner(state, [lat, lng]);
    else choose(state, [lat, lng]);
  });
  const metresAPixel = () => {
    const { x, y } = map.getSize();
    return map.distance(map.containerPointToLatLng([0, y / 2]), map.containerPointToLatLng([x, y / 2])) / x;
  };
  map.on("moveend zoomend", () => (map.getContainer().dataset.metres = metresAPixel()));
  map.on("dblclick", () => state.ring && finish(state));
  document.addEventListener("keydown", (event) => drawingKey(state, event) && event.preventDefault());
  document.getElementById("around").addEventListener("click", () => state.chosen && state.metric && fence(ringAround(state.metric, state.chosen)));
  document.getElementById("fix").addEventListener("click", () => (state.chosen ? fix(state.chosen) : say("Click the place on the map first.")));

  return {
    state,
    /** A map in colours with its fences, and the chosen place. */
    show({ id, context: drawn }, metric, colours, rings, fixed) {
      const corners = [[0, 0], [0, metric.cols - 1], [metric.rows - 1, metric.cols - 1], [metric.rows - 1, 0]].map(([row, col]) => metric.cellToLatLon(row, col));
      if (state.shown !== id) map.fitBounds(corners);
      Object.assign(state, { metric, shown: id });
      field.show(metric, colours);
      context.show(drawn ? placeContext(drawn, metric) : null, true);
      signs.clearLayers();
      L.polygon(corners, { color: "#5c6870", weight: 1, fill: false, interactive: false }).addTo(signs);
      for (const ring of rings) L.polygon(ring, { color: RED, interactive: false }).addTo(signs);
      if (fixed) L.circleMarker(fixed, { radius: 6, color: "#1f6feb", interactive: false }).addTo(signs);
      document.body.dataset.shown = id;
    },
    clear() {
      Object.assign(state, { metric: null, shown: null });
      field.show(null, null);
      context.show(null, false);
      signs.clearLayers();
    },
    /** The regions that a pack has. */
    outlines(regions) {
      borders.clearLayers();
      const drawn = regions.map(({ outline, name }) => L.polygon(outline, { color: "#0b6b57", weight: 2, fillOpacity: 0.05 }).bindTooltip(name).addTo(borders));
      if (state.metric === null) map.fitBounds(L.featureGroup(drawn).getBounds());
    },
  };
}

function choose(state, latlon) {
  state.mark?.remove();
  state.chosen = latlon;
  state.mark = L.circleMarker(latlon, { radius: 7, color: "#111", fillColor: "#fff", fillOpacity: 1, interactive: false }).addTo(state.map);
}

function addCorner(state, latlon) {
  state.ring.push(latlon);
  state.line.setLatLngs(state.ring);
}

/** The button: begin a fence, or close the one that is being drawn. */
export function closeRing({ state }) {
  if (state.ring) {
    finish(state);
    return;
  }
  state.ring = [];
  state.line = L.polygon([], { color: RED, interactive: false }).addTo(state.map);
  state.map.doubleClickZoom.disable();
  state.map.getContainer().classList.add("drawing");
  label("Close the fence", true);
  state.say("Click the corners; a double click or Enter closes the fence, Backspace takes a corner back, Escape gives up.");
}

function label(words, pressed) {
  const button = document.getElementById("draw");
  button.textContent = words;
  button.setAttribute("aria-pressed", String(pressed));
}

function finish(state) {
  // the click that ends a double click has set a corner where there was one already
  const ring = state.ring.filter(([lat, lon], k, all) => k === 0 || lat !== all[k - 1][0] || lon !== all[k - 1][1]);
  end(state);
  if (ring.length < 3) state.say(`A fence needs at least three corners; this one has ${ring.length}.`);
  else state.fence(ring);
}

function end(state) {
  state.line.remove();
  state.ring = null;
  // the double click that closed the fence must not also zoom
  setTimeout(() => state.map.doubleClickZoom.enable());
  state.map.getContainer().classList.remove("drawing");
  label("Draw a fence", false);
}

function drawingKey(state, { key, target }) {
  if (!state.ring || target instanceof HTMLButtonElement) return false;
  if (key === "Escape") {
    end(state);
    state.say("No fence was drawn.");
  } else if (key === "Enter") finish(state);
  else if (key === " ") addCorner(state, [state.map.getCenter().lat, state.map.getCenter().lng]);
  else if (key === "Backspace") {
    state.ring.pop();
    state.line.setLatLngs(state.ring);
  } else return false;
  return true;
}
