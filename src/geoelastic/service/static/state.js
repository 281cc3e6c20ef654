// SPDX-License-Identifier: Apache-2.0
// What the parts of the page share: the map that is shown, the place that was chosen, and two maps of Leaflet.

import { makeContext } from "./context.js";
import { makeField } from "./field.js";

/* global L */

const TILES = "https://tile.openstreetmap.org/{z}/{x}/{y}.png";

/** ring: the corners of a fence that is being drawn, else null. held: false once a check has found the map wanting. */
export const state = { mechanism: null, place: null, latlng: null, level: 0, layer: "mass", ring: null, run: 0, noise: null, held: true, context: null };
/** `first` is the map, `second` stands beside it to compare. */
export const views = { first: null, second: null };

export function element(id) {
  return document.getElementById(id);
}

export function say(text) {
  element("status").textContent = text;
}

/** A map of Leaflet with its layers. */
export function makeView(id) {
  const map = L.map(id, { zoomSnap: 0.25, zoomAnimation: false, fadeAnimation: false, preferCanvas: true, attributionControl: true, zoomControl: id === "map" });
  map.attributionControl.setPrefix(false);
  map.on("zoomend", () => (map.getContainer().dataset.zoom = map.getZoom()));
  return {
    map, field: makeField(1).addTo(map), context: makeContext(2).addTo(map), ball: makeField(3).addTo(map), dots: L.layerGroup().addTo(map),
    border: L.layerGroup().addTo(map), tiles: L.tileLayer(TILES, { attribution: "© OpenStreetMap contributors", maxZoom: 19 }),
  };
}
