// SPDX-License-Identifier: Apache-2.0
// The page. Everything that has to do with a place happens here, on the device; the server only ever sends files.

import { carveFence } from "../client/carve.js";
import { Elastic } from "../client/mechanism.js";
import { makeField, pixel } from "./field.js";
import { busiest, discOf, laplacePoints } from "./laplace.js";
import { colourLayer } from "./values.js";
import { amount, ballSentence, factorOf, laplaceSentence, metres } from "./words.js";

/* global L */

const CLOUD = 300;
const TILES = "https://tile.openstreetmap.org/{z}/{x}/{y}.png";
const element = (id) => document.getElementById(id);
const say = (text) => (element("status").textContent = text);
const state = { mechanism: null, place: null, level: 0, layer: "mass", ring: null, run: 0, noise: null };

function makeMap(id) {
  const map = L.map(id, { zoomAnimation: false, fadeAnimation: false, preferCanvas: true, attributionControl: true, zoomControl: id === "map" });
  map.attributionControl.setPrefix(false);
  const view = {
    map, field: makeField(1).addTo(map), ball: makeField(2).addTo(map), dots: L.layerGroup().addTo(map),
    border: L.layerGroup().addTo(map), tiles: L.tileLayer(TILES, { attribution: "© OpenStreetMap contributors", maxZoom: 19 }),
  };
  map.on("click", ({ latlng }) => (state.ring ? addCorner(latlng) : choose(latlng)));
  map.getContainer().addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === map.getContainer()) choose(map.getCenter());
  });
  return view;
}

let view;
let second;

/** The file to show: inside the page, or at the service it came from. */
async function loadMechanism(name) {
  const inside = element("metric");
  if (inside) return Elastic.fromBytes(Uint8Array.from(atob(inside.textContent), (letter) => letter.charCodeAt(0)));
  const answer = await ask(`v1/metrics/${encodeURIComponent(name)}/portable`);
  return Elastic.fromBytes(new Uint8Array(await answer.arrayBuffer()));
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
  setMechanism(await loadMechanism(name));
  const { metric } = state.mechanism;
  element("name").textContent = name ?? "";
  const sides = [metric.cols, metric.rows].map((cells) => ((cells * metric.cellM) / 1000).toPrecision(3)).join(" × ");
  const checked = metric.head.certificate;
  element("facts").textContent = `${sides} km in ${amount(metric.n)} locations. Verified: ${amount(checked.checked ?? 0)} locations, ${checked.violations ?? "?"} without their crowd.`;
  element("sentence").textContent = "Click a place (or press the button below) to see the crowd it hides in.";
  document.body.dataset.loadMs = Math.round(performance.now() - begun);
  document.body.dataset.ready = "yes";
  say(`Loaded in ${document.body.dataset.loadMs} ms.`);
}

function setMechanism(mechanism) {
  Object.assign(state, { mechanism, noise: null });
  const { metric } = mechanism;
  const corners = [[0, 0], [0, metric.cols], [metric.rows, metric.cols], [metric.rows, 0]].map(([r, c]) => metric.cellToLatLon(r - 0.5, c - 0.5));
  for (const { map, border } of [view, second]) {
    border.clearLayers();
    L.polygon(corners, { fill: false, weight: 1, color: "#888", interactive: false }).addTo(border);
    if (!map._loaded) map.fitBounds(corners, { animate: false });
  }
  const low = metric.head.l_from || metric.lTop / 20;
  const slider = element("level");
  if (state.level === 0) slider.value = Math.round((100 * (Math.LN2 - low)) / (metric.lTop - low));
  setLevel();
  showLayer();
}

function setLevel() {
  const { head, lTop } = state.mechanism.metric;
  const low = head.l_from || lTop / 20;
  const share = Number(element("level").value) / 100;
  const level = low + share * (lTop - low);
  state.level = Math.abs(level - Math.LN2) < (lTop - low) / 150 ? Math.LN2 : level;
  element("factor").textContent = factorOf(state.level);
}

function showLayer() {
  const run = ++state.run;
  const paint = (colours, legend) => {
    view.field.show(state.mechanism.metric, colours);
    second.field.show(state.mechanism.metric, colours);
    element("legend").hidden = !legend;
    if (legend) [element("legend-low").textContent, element("legend-high").textContent] = legend;
    document.body.dataset.layer = state.layer;
  };
  return colourLayer(state.layer, state.mechanism, paint, () => run !== state.run);
}

/** A place was chosen: its ball, the cloud of its reports, one report of its own. */
function choose({ lat, lng }) {
  const { mechanism } = state;
  if (!mechanism) return;
  try {
    state.place = mechanism.metric.locateSecret(lat, lng);
  } catch (error) {
    state.place = null;
    clearPlace();
    element("sentence").textContent = error.code === "frame" ? "This close to the border the map does not know the crowd: nobody can hide here." : "This place is not on the map.";
    return;
  }
  state.latlng = [lat, lng];
  showPlace();
}

function clearPlace() {
  for (const { ball, dots } of [view, second]) {
    ball.show(state.mechanism.metric, null);
    dots.clearLayers();
  }
  element("again").disabled = element("around").disabled = true;
  element("comparison").hidden = true;
}

function showPlace() {
  const { mechanism, place, level } = state;
  const { metric } = mechanism;
  const requests = performance.getEntriesByType("resource").length;
  clearPlace();
  const ball = metric.ball(place, level);
  const colours = new Uint32Array(metric.n);
  for (const i of ball.members) colours[i] = pixel(226, 88, 34, 200);
  view.ball.show(metric, colours);
  const begun = performance.now();
  const report = mechanism.reportFrom(place);
  const took = performance.now() - begun;
  const cloud = mechanism.reportsFrom(place, CLOUD);
  for (const { lat, lon } of cloud) dot(view, [lat, lon], "#1f6feb", 2.5, 0.7);
  dot(view, [report.lat, report.lon], "#d6249f", 7, 1).bindTooltip("a report", { permanent: false });
  dot(view, state.latlng, "#111", 5, 1, "#fff").bindTooltip("the place");
  element("sentence").textContent = metric.fence[place] > 0 ? "This place is inside a fence: all of it is one place, and reports say nothing more." : ballSentence(metric.head, ball, level);
  if (!element("other").hidden) showLaplace(ball);
  const made = performance.getEntriesByType("resource").length - requests;
  const { meanM } = mechanism.spread(place);
  say(`Report drawn on this device in ${took.toFixed(0)} ms, ${metres(meanM)} off on average; ${made} requests were made meanwhile.`);
  Object.assign(document.body.dataset, { ball: ball.members.length, cloud: cloud.length, reportMs: took.toFixed(1), requests: made });
  element("again").disabled = element("around").disabled = false;
}

function dot({ dots }, latlng, colour, radius, opacity, fill = colour) {
  return L.circleMarker(latlng, { radius, weight: radius > 4 ? 3 : 0, color: colour, fillColor: fill, fillOpacity: opacity }).addTo(dots);
}

/** The same level with planar Laplace, whose noise is what this map has at its busiest place. */
function showLaplace(ball) {
  const { mechanism, place, level } = state;
  const { metric } = mechanism;
  state.noise ??= mechanism.spread(busiest(metric)).meanM;
  const epsilon = 2 / state.noise;
  const radius = level / epsilon;
  L.circle(state.latlng, { radius, color: "#d9822b", weight: 2, fillOpacity: 0.25, interactive: false }).addTo(second.dots);
  const [x, y] = metric.projection.toXY(...state.latlng);
  for (const [a, b] of laplacePoints(x, y, epsilon, CLOUD)) dot(second, metric.projection.toLatLon(a, b), "#d9822b", 2.5, 0.8);
  dot(second, state.latlng, "#111", 5, 1, "#fff");
  element("comparison").textContent = laplaceSentence(metric.head, discOf(metric, place, radius), ball, state.noise);
  element("comparison").hidden = false;
}

function toggleCompare() {
  const on = element("other").hidden;
  element("other").hidden = !on;
  document.querySelector("#maps figcaption").hidden = !on;
  element("compare").setAttribute("aria-pressed", on);
  view.map.invalidateSize({ animate: false });
  second.map.invalidateSize({ animate: false });
  second.map.setView(view.map.getCenter(), view.map.getZoom(), { animate: false });
  if (state.place !== null) showPlace();
}

function follow(one, other) {
  one.map.on("moveend", () => {
    if (element("other").hidden || one.map._following) return;
    other.map._following = true;
    other.map.setView(one.map.getCenter(), one.map.getZoom(), { animate: false });
    other.map._following = false;
  });
}

/* Fences */

function toggleDrawing() {
  if (state.ring) {
    const { ring, line } = state.ring;
    endDrawing();
    line.remove();
    if (ring.length >= 3) carve(ring);
    else say("A fence needs at least three corners.");
    return;
  }
  state.ring = { ring: [], line: L.polygon([], { color: "#c8283c", interactive: false }).addTo(view.map) };
  element("draw").textContent = "Close the fence";
  element("draw").setAttribute("aria-pressed", "true");
  say("Click the corners of the fence, then close it. Escape gives up.");
}

function endDrawing() {
  state.ring = null;
  element("draw").textContent = "Draw a fence";
  element("draw").setAttribute("aria-pressed", "false");
}

function addCorner({ lat, lng }) {
  state.ring.ring.push([lat, lng]);
  state.ring.line.setLatLngs(state.ring.ring);
}

/** Irregular and off-centre: a circle around a home gives the home away. */
function fenceAround() {
  const { metric } = state.mechanism;
  const [x, y] = metric.projection.toXY(...state.latlng);
  const random = (low, high) => low + (high - low) * (crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32);
  const size = Math.max(250, 3 * metric.cellM);
  const away = [random(-0.5, 0.5) * size, random(-0.5, 0.5) * size];
  const ring = Array.from({ length: 9 }, (_, k) => {
    const radius = size * random(1, 1.6);
    const angle = (2 * Math.PI * (k + random(-0.3, 0.3))) / 9;
    return metric.projection.toLatLon(x + away[0] + radius * Math.cos(angle), y + away[1] + radius * Math.sin(angle));
  });
  carve(ring);
}

function carve(ring) {
  say("Carving …");
  setTimeout(() => {
    const begun = performance.now();
    try {
      const { metric, cells, checked, changed } = carveFence(state.mechanism.metric, ring);
      state.layer = "fences";
      document.querySelector('input[name="layer"][value="fences"]').checked = true;
      setMechanism(new Elastic(metric));
      if (state.place !== null) choose({ lat: state.latlng[0], lng: state.latlng[1] });
      const took = ((performance.now() - begun) / 1000).toFixed(1);
      say(`${cells} cells are one place now. ${amount(checked)} locations around were checked again, ${amount(changed)} of them blurred a little more to keep their crowd. Done on this device in ${took} s; the fence was not sent anywhere.`);
      Object.assign(document.body.dataset, { fenced: cells, checked });
    } catch (error) {
      say(`This fence cannot be carved: ${error.message}.`);
    }
  });
}

async function start() {
  view = makeMap("map");
  second = makeMap("map2");
  follow(view, second);
  follow(second, view);
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
  element("centre").addEventListener("click", () => choose(view.map.getCenter()));
  element("again").addEventListener("click", showPlace);
  element("draw").addEventListener("click", toggleDrawing);
  element("around").addEventListener("click", fenceAround);
  element("compare").addEventListener("click", toggleCompare);
  element("tiles").addEventListener("change", ({ target }) => {
    for (const { map, tiles } of [view, second]) target.checked ? tiles.addTo(map) : tiles.remove();
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !state.ring) return;
    state.ring.line.remove();
    endDrawing();
    say("No fence was drawn.");
  });
  try {
    let name = null;
    if (!element("metric")) {
      const { metrics } = await (await ask("v1/metrics")).json();
      for (const metric of metrics) element("metrics").add(new Option(metric.name));
      element("choose").hidden = metrics.length < 2;
      element("metrics").addEventListener("change", ({ target }) => {
        state.place = null;
        clearPlace();
        view.map._loaded = second.map._loaded = false;
        open(target.value).catch(failed);
      });
      name = metrics[0].name;
    }
    await open(name);
  } catch (error) {
    failed(error);
  }
}

function failed(error) {
  element("sentence").textContent = `The map cannot be loaded: ${error.message}.`;
}

start();
