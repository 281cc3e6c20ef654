// SPDX-License-Identifier: Apache-2.0
// The device, asked by the extension itself: then no site needs the browser's permission, and a page that finds a way around us finds the
// browser's own question behind it. A worker has no geolocation, so it is asked in a document that nobody sees.

import { GeoelasticError } from "../../client/src/errors.js";
import { api } from "./api.js";

const PERMISSION = { permissions: ["offscreen"] };
const DOCUMENT = { url: "where.html", reasons: ["GEOLOCATION", "WORKERS"], justification: "The position that reports are drawn from is read here, so that no site has to be allowed to; newer maps are checked here." };

/** Whether this browser knows such documents; where it does not (Firefox), sites ask the browser, and our scripts stand in between. */
export const canAsk = () => Boolean(api.runtime.getManifest().optional_permissions?.includes("offscreen"));

/** Asked for by a page of the extension, in answer to a click: first to have such a document, then to know the place. */
export async function allowAsking() {
  if (!(await api.permissions.request(PERMISSION))) throw new GeoelasticError("input", "without it no document can be opened to ask in");
  await new Promise((resolve, reject) => navigator.geolocation.getCurrentPosition(resolve, ({ code }) => {
    // no fix is not a refusal
    if (code === 1) reject(new GeoelasticError("input", "the browser was told that Geoelastic may not know where you are"));
    else resolve();
  }));
}

/** Whether it may: for a page of the extension to show. */
export async function isAllowed() {
  return canAsk() && (await api.permissions.contains(PERMISSION)) && (await navigator.permissions.query({ name: "geolocation" })).state === "granted";
}

export const stopAsking = () => api.permissions.remove(PERMISSION);

let opening = null;

async function open() {
  if (!api.offscreen) throw new GeoelasticError("device", "the device may not be asked");
  if (await api.offscreen.hasDocument()) return;
  opening ??= api.offscreen.createDocument(DOCUMENT).finally(() => (opening = null));
  await opening;
}

/** What the hidden document says; only the worker asks it. */
export async function askHidden(message) {
  await open();
  return api.runtime.sendMessage(message);
}

/** The true position. */
export async function truePosition({ enableHighAccuracy, maximumAge, timeout } = {}) {
  const { position } = (await askHidden({ what: "where", options: { enableHighAccuracy, maximumAge, timeout } })) ?? {};
  if (!position) throw new GeoelasticError("device", "the device did not say where it is");
  return position;
}
