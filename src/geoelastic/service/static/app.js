// SPDX-License-Identifier: Apache-2.0
// The page. Everything that has to do with a place happens here, on the device; the server only ever sends files.

import { Elastic } from "../client/mechanism.js";
import { offerCheck } from "./checking.js";
import { placeContext } from "./context.js";
import { addCorner, closeByDoubleClick, drawingKey, fenceAround, toggleDrawing } from "./fencing.js";
import { choose, clearPlace, copyReport, showExample, showPlace } from "./place.js";
import { element, makeView, say, state, views } from "./state.js";
import { colourLayer } from "./values.js";
import { amount, factorOf } from "./words.js";

/* global L */

/** The file to show: inside the page, or at the service it came from. */
async function loadBytes(name) {
  const inside = element("metric");
  if (inside) return Uint8Array.from(atob(inside.textContent), (letter) => letter.charCodeAt(0));
  const answer = await ask(`v1/metrics/${encodeURIComponent(name)}/portable`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** Water, roads and names of the map, or null; from the page or from the service as well. */
async function loadContext(name) {
  const inside = element("context");
  if (inside || element("metric")) return inside ? JSON.parse(inside.textContent) : null;
  return (await ask(`v1/metrics/${encodeURIComponent(name)}/context`)).json();
}

/** A service that needs a token is opened with it behind the '#', where it is not sent as part of the address. */
async function ask(path) {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  const answer = await fetch(path, token ? { headers: { Authorization: `Bearer ${token}` } } : {});
  if (!answer.ok) throw new Error(answer.status === 401 ? "this service needs #token=… in the address" : `the server answered ${answer.status}`);
  return answer;
}

async function open(name) {
  const begun = performance.now();
  delete document.body.dataset.ready;
  delete document.body.dataset.cloud;
  const [bytes, around] = await Promise.all([loadBytes(name), loadContext(name)]);
  const mechanism = await Elastic.fromBytes(bytes);
  Object.assign(state, { mechanism, place: null, level: 0, context: around && placeContext(around, mechanism.metric) });
  credit(around?.credit ?? "");
  clearPlace();
  show({ fit: true });
  const { metric } = state.mechanism;
  element("name").textContent = name ?? "";
  document.title = name ? `${name} · geoelastic` : "geoelastic";
  const sides = [metric.cols, metric.rows].map((cells) => ((cells * metric.cellM) / 1000).toPrecision(3)).join(" × ");
  const noise = metric.height === undefined ? "Its reports go by half of each distance: it was never sharpened." : "Its reports are sharpened: as near as the promise allows.";
  element("facts").textContent = `${sides} km in ${amount(metric.n)} places. ${noise}`;
  element("sentence").textContent = "Choose a place on the map: you will see who hides it, and what others are told instead.";
  element("centre").disabled = false;
  element("centre").classList.add("first");
  element("centre").textContent = "Show me an example";
  say("");
  offerCheck(bytes, metric.n);
  Object.assign(document.body.dataset, { loadMs: Math.round(performance.now() - begun), map: name ?? "", ready: "yes" });
}

/** Whom the map's data is from: written as text, whatever is in it. */
function credit(text) {
  const line = document.createElement("span");
  line.textContent = text;
  for (const view of Object.values(views)) {
    const { attributionControl } = view.map;
    if (view.credit) attributionControl.removeAttribution(view.credit);
    if (text) attributionControl.addAttribution(line.innerHTML);
    view.credit = text && line.innerHTML;
  }
}

/** Draw the state's mechanism; `fit` also moves the maps to it. */
function show({ fit }) {
  const { metric } = state.mechanism;
  state.noise = null;
  const corners = [[0, 0], [0, metric.cols], [metric.rows, metric.cols], [metric.rows, 0]].map(([r, c]) => metric.cellToLatLon(r - 0.5, c - 0.5));
  for (const { map, border } of Object.values(views)) {
    border.clearLayers();
    L.polygon(corners, { fill: false, weight: 1, color: "#888", interactive: false }).addTo(border);
    if (fit) map.fitBounds(corners, { animate: false });
  }
  const low = lowestLevel(metric);
  if (state.level === 0) element("level").value = Math.round((100 * (Math.LN2 - low)) / (metric.lTop - low));
  setLevel();
  showLayer();
}

function lowestLevel({ head, lTop }) {
  return head.l_from || lTop / 20;
}

function setLevel() {
  const { metric } = state.mechanism;
  const low = lowestLevel(metric);
  const level = low + (Number(element("level").value) / 100) * (metric.lTop - low);
  state.level = Math.abs(level - Math.LN2) < (metric.lTop - low) / 150 ? Math.LN2 : level;
  element("factor").textContent = factorOf(state.level);
}

function showLayer() {
  const run = ++state.run;
  const paint = (colours, legend) => {
    const strong = colours !== null && ["mass", "error", "slack"].includes(state.layer);
    for (const { field, context } of Object.values(views)) {
      field.show(state.mechanism.metric, colours);
      context.show(state.context, strong);
    }
    element("legend").hidden = !legend;
    if (legend) showLegend(legend);
    document.body.dataset.layer = state.layer;
  };
  return colourLayer(state.layer, state.mechanism, paint, () => run !== state.run);
}

function showLegend({ title, low, high, colour }) {
  element("legend-title").textContent = title;
  element("legend-low").textContent = low ?? "";
  element("legend-high").textContent = high ?? "";
  element("legend").style.setProperty("--sign", colour ?? "");
  element("legend").classList.toggle("single", colour !== undefined);
}

function carved(mechanism) {
  Object.assign(state, { mechanism, layer: "fences" });
  document.querySelector('input[name="layer"][value="fences"]').checked = true;
  show({ fit: false });
  offerCheck(mechanism, mechanism.metric.n);
  if (state.place !== null) choose({ lat: state.latlng[0], lng: state.latlng[1] });
}

function toggleCompare() {
  const on = element("other").hidden;
  const { first, second } = views;
  element("other").hidden = !on;
  document.querySelector("#maps figcaption").hidden = !on;
  element("compare").setAttribute("aria-pressed", on);
  first.map.invalidateSize({ animate: false });
  second.map.invalidateSize({ animate: false });
  second.map.setView(first.map.getCenter(), first.map.getZoom(), { animate: false });
  if (state.place !== null) showPlace();
}

function follow(one, other) {
  one.map.on("moveend", () => {
    if (element("other").hidden || one.following) return;
    other.following = true;
    other.map.setView(one.map.getCenter(), one.map.getZoom(), { animate: false });
    other.following = false;
  });
}

function listen() {
  for (const { map } of Object.values(views)) {
    map.on("click", ({ latlng }) => (state.ring ? addCorner(latlng) : choose(latlng)));
    map.on("dblclick", () => state.ring && closeByDoubleClick(carved));
    map.getContainer().addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target === map.getContainer() && !state.ring) choose(map.getCenter());
    });
  }
  element("level").addEventListener("input", () => {
    setLevel();
    if (state.place !== null) showPlace();
  });
  document.querySelectorAll('input[name="layer"]').forEach((input) =>
    input.addEventListener("change", () => {
      state.layer = input.value;
      showLayer();
    }),
  );
  element("centre").addEventListener("click", () => (state.place === null ? showExample() : choose(views.first.map.getCenter())));
  element("again").addEventListener("click", showPlace);
  element("copy").addEventListener("click", copyReport);
  element("draw").addEventListener("click", () => toggleDrawing(carved));
  element("around").addEventListener("click", () => fenceAround(carved));
  element("compare").addEventListener("click", toggleCompare);
  element("tiles").addEventListener("change", ({ target }) => {
    for (const { map, tiles } of Object.values(views)) target.checked ? tiles.addTo(map) : tiles.remove();
  });
  document.addEventListener("keydown", (event) => {
    if (drawingKey(event, carved)) event.preventDefault();
  });
}

async function start() {
  Object.assign(views, { first: makeView("map"), second: makeView("map2") });
  follow(views.first, views.second);
  follow(views.second, views.first);
  listen();
  try {
    let name = null;
    if (!element("metric")) {
      const { metrics } = await (await ask("v1/metrics")).json();
      for (const metric of metrics) element("metrics").add(new Option(metric.name));
      element("choose").hidden = metrics.length < 2;
      element("name").hidden = metrics.length > 1; // the list says it
      element("metrics").addEventListener("change", ({ target }) => open(target.value).catch(failed));
      name = metrics[0].name;
    }
    await open(name);
  } catch (error) {
    failed(error);
  }
}

function failed(error) {
  Object.assign(state, { mechanism: null, place: null });
  element("centre").disabled = true;
  clearPlace();
  element("sentence").textContent = `The map cannot be loaded: ${error.message}.`;
}

start();
