// SPDX-License-Identifier: Apache-2.0
// The device, asked by the extension itself: then no site needs the browser's permission, and a page that finds a way around us finds the
// browser's own question behind it. It takes a document that nobody sees. In Firefox the worker is one; Chromium's has no geolocation, and opens one.

import { GeoelasticError } from "../../client/src/errors.js";
import { api } from "./api.js";
import { DONE_HIDDEN } from "./hidden.js";

/** Chromium: to have such a document ("offscreen"); Firefox: to ask in it ("geolocation"). */
const permission = () => ({ permissions: api.runtime.getManifest().optional_permissions });
const DOCUMENT = { url: "where.html", reasons: ["GEOLOCATION", "WORKERS"], justification: "The position that reports are drawn from is read here, so that no site has to be allowed to; newer maps are checked here." };

/** Asked for by a page of the extension, in answer to a click: first what the extension needs, then to know the place. */
export async function allowAsking() {
  if (!(await api.permissions.request(permission()))) throw new GeoelasticError("input", "without it the device cannot be asked");
  await new Promise((resolve, reject) => navigator.geolocation.getCurrentPosition(resolve, ({ code }) => {
    // no fix is not a refusal
    if (code === 1) reject(new GeoelasticError("input", "the browser was told that Geoelastic may not know where you are"));
    else resolve();
  }));
}

/** Whether it may: for a page of the extension to show. */
export async function isAllowed() {
  return (await api.permissions.contains(permission())) && (await navigator.permissions.query({ name: "geolocation" })).state === "granted";
}

export const stopAsking = () => api.permissions.remove(permission());

let opening = null;

async function open() {
  if (!api.offscreen) throw new GeoelasticError("device", "the device may not be asked");
  if (await api.offscreen.hasDocument()) return;
  opening ??= api.offscreen.createDocument(DOCUMENT).finally(() => (opening = null));
  await opening;
}

/** What is done in the hidden document, {what, ...}: only the worker asks for it. */
export async function askHidden(message) {
  if (globalThis.document) return DONE_HIDDEN[message.what](message);
  await open();
  return api.runtime.sendMessage(message);
}

/** The true position. */
export async function truePosition({ enableHighAccuracy, maximumAge, timeout } = {}) {
  const { position } = (await askHidden({ what: "where", options: { enableHighAccuracy, maximumAge, timeout } })) ?? {};
  if (!position) throw new GeoelasticError("device", "the device did not say where it is");
  return position;
}
