// SPDX-License-Identifier: Apache-2.0
// A place was chosen: who hides it, what is told instead of it, and what else might have been.

import { pixel } from "./field.js";
import { busiest, discOf, laplacePoints } from "./laplace.js";
import { element, say, state, views } from "./state.js";
import { ballSentence, laplaceSentence, metres } from "./words.js";

/* global L */

const CLOUD = 300;

/** Take a place, if it can be hidden. */
export function choose({ lat, lng }) {
  const { mechanism } = state;
  if (!mechanism || !state.held) return;
  try {
    state.place = mechanism.metric.locateSecret(lat, lng);
  } catch (error) {
    state.place = null;
    clearPlace();
    element("sentence").textContent = error.code === "frame" ? "This close to the border the map does not know the crowd: nobody can hide here. Choose a place further in." : "This place is not on the map.";
    return;
  }
  state.latlng = [lat, lng];
  showPlace();
}

/** The busiest place, so close that one sees who hides it and how far reports go. */
export function showExample() {
  const { mechanism } = state;
  const place = mechanism ? busiest(mechanism.metric) : -1;
  if (place < 0) return choose(views.first.map.getCenter());
  const { metric } = mechanism;
  const [lat, lng] = metric.projection.toLatLon(...metric.xy(place));
  views.first.map.fitBounds(L.latLng(lat, lng).toBounds(6 * mechanism.spread(place).meanM), { animate: false });
  choose({ lat, lng });
}

export function clearPlace() {
  for (const { ball, dots } of Object.values(views)) {
    if (state.mechanism) ball.show(state.mechanism.metric, null);
    dots.clearLayers();
  }
  element("around").disabled = true;
  element("report").hidden = element("alike").hidden = element("comparison").hidden = true;
}

export function showPlace() {
  const { mechanism, place, level } = state;
  const { metric } = mechanism;
  const before = requests();
  clearPlace();
  const ball = metric.ball(place, level);
  const colours = new Uint32Array(metric.n);
  for (const i of ball.members) colours[i] = pixel(226, 88, 34, 200);
  views.first.ball.show(metric, colours);
  const begun = performance.now();
  const report = mechanism.reportFrom(place);
  const took = performance.now() - begun;
  const cloud = mechanism.reportsFrom(place, CLOUD);
  for (const { lat, lon } of cloud) dot(views.first, [lat, lon], "#1f6feb", 2.5, 0.7);
  dot(views.first, [report.lat, report.lon], "#d6249f", 7, 1).bindTooltip("the report");
  dot(views.first, state.latlng, "#111", 5, 1, "#fff").bindTooltip("the place");
  const fenced = metric.fence[place] > 0;
  element("sentence").textContent = fenced ? "This place is inside a fence: all of it is one place, and reports say nothing more." : ballSentence(metric.head, ball, level);
  if (!element("other").hidden) showLaplace(ball);
  showReport(report, fenced, requests() - before);
  element("alike").hidden = fenced;
  element("around").disabled = false;
  element("centre").classList.remove("first");
  element("centre").textContent = "Choose the middle of the map";
  Object.assign(document.body.dataset, { ball: ball.members.length, cloud: cloud.length, reportMs: took.toFixed(1), requests: requests() - before });
}

/** What this page asked any server for; its own workers are not among it. */
function requests() {
  return performance.getEntriesByType("resource").filter(({ name }) => !name.startsWith("blob:")).length;
}

function showReport({ lat, lon }, fenced, made) {
  const { mechanism, place, latlng } = state;
  const [x, y] = mechanism.metric.projection.toXY(...latlng);
  const [a, b] = mechanism.metric.projection.toXY(lat, lon);
  const usual = metres(mechanism.spread(place).meanM);
  const away = fenced ? "Somewhere in your fence." : `${metres(Math.hypot(a - x, b - y))} away this time, ${usual} on average from here.`;
  element("coordinates").textContent = `${lat.toFixed(5)}, ${lon.toFixed(5)}`;
  element("away").textContent = `${away} ${made === 0 ? "Drawn on this device; nothing was sent." : `${made} requests were made meanwhile.`}`;
  element("copy").textContent = "Copy";
  element("report").hidden = false;
}

/** The coordinates of the report, to be pasted anywhere. */
export async function copyReport() {
  const shown = element("coordinates");
  try {
    await navigator.clipboard.writeText(shown.textContent);
    element("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(shown);
    say("Marked: copy it with Ctrl+C.");
  }
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
  L.circle(state.latlng, { radius, color: "#d9822b", weight: 2, fillOpacity: 0.25, interactive: false }).addTo(views.second.dots);
  const [x, y] = metric.projection.toXY(...state.latlng);
  for (const [a, b] of laplacePoints(x, y, epsilon, CLOUD)) dot(views.second, metric.projection.toLatLon(a, b), "#d9822b", 2.5, 0.8);
  dot(views.second, state.latlng, "#111", 5, 1, "#fff");
  element("comparison").textContent = laplaceSentence(metric.head, discOf(metric, place, radius), ball, state.noise);
  element("comparison").hidden = false;
}
