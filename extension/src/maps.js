// SPDX-License-Identifier: Apache-2.0
// Maps on the device: the file as it came, with the digest under which it was verified here; and the map unpacked, with the fences carved
// in that were drawn. Whatever is missing, damaged, not verified or of other fences is no map.

import { carveFence } from "../../client/src/carve.js";
import { GeoelasticError } from "../../client/src/errors.js";
import { Elastic } from "../../client/src/mechanism.js";
import { Metric } from "../../client/src/metric.js";
import { sharpen } from "../../client/src/sharpen.js";
import { verify } from "../../client/src/verify.js";

const NAME = "geoelastic";
const PARTS = ["leaves", "edges", "mass", "measure", "scale", "place", "rise", "height", "fence", "framed"];

function opened() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => ["files", "carved"].forEach((store) => request.result.createObjectStore(store, { keyPath: "id" }));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function inStore(store, mode, act) {
  const base = await opened();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = base.transaction(store, mode);
      const request = act(transaction.objectStore(store));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    base.close();
  }
}

export const keep = (store, value) => inStore(store, "readwrite", (files) => files.put(value));
export const forget = (store, id) => inStore(store, "readwrite", (files) => files.delete(id));
export const fetchKept = (store, id) => inStore(store, "readonly", (files) => files.get(id));
export const allFiles = () => inStore("files", "readonly", (files) => files.getAll());

export function forgetAll() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(NAME);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });
}

export async function digestOf(...parts) {
  const whole = new Blob(parts.map((part) => part ?? ""));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await whole.arrayBuffer()));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** All of a map that differs from one carving to another, as data that IndexedDB takes. */
function partsOf(metric) {
  return { head: metric.head, ...Object.fromEntries(PARTS.map((name) => [name, metric[name]])) };
}

function digestOfParts({ head, leaves, edges, place, ...arrays }) {
  const flat = [leaves, edges, place].flatMap((group) => (group ? Object.keys(group).sort().map((name) => group[name]) : ["-"]));
  return digestOf(JSON.stringify(head), ...flat, ...PARTS.map((name) => arrays[name]));
}

/** The mechanism of a kept map with these fences in it; throws if there is none that is whole and verified. */
export async function openMap(id, rings = []) {
  const [file, made] = await Promise.all([fetchKept("files", id), fetchKept("carved", id)]);
  if (!file || file.verified !== file.sha256) throw new GeoelasticError("file", "the map was not verified on this device");
  if (made?.of !== file.sha256 || made.fences !== JSON.stringify(rings)) throw new GeoelasticError("file", "the fences are not in the map");
  if (made.sha256 !== (await digestOfParts(made.parts))) throw new GeoelasticError("file", "the map was changed");
  return new Elastic(new Metric(made.parts));
}

/** A file, verified on this device and then kept. about: {id, name, licence, date, from}. */
export async function addMap(bytes, about, options) {
  const { ok, claim, faults, short } = await verify(bytes, { ...options, store: { get: () => undefined, set: () => undefined } });
  if (!ok) throw new GeoelasticError("file", `this map does not keep its promise: ${[...faults, ...short].join("; ")}`);
  const sha256 = await digestOf(bytes);
  const file = { ...about, bytes, sha256, verified: sha256, claim };
  await keep("files", file);
  await keepParts(file, [], await Elastic.fromBytes(bytes));
  return claim;
}

/**
 * Carve all fences of a map, certify the result and keep it. At first reports go by half of each distance; `sharpenMap` finds the rest.
 * Nothing is kept unless the map with the fences holds what it states.
 */
export async function carveMap(id, rings, options) {
  const file = await fetchKept("files", id);
  const whole = await Elastic.fromBytes(file.bytes);
  if (rings.length === 0) return keepParts(file, rings, whole);
  let { metric } = whole;
  for (const ring of rings) metric = carveFence(metric, ring).metric;
  await keepCarved(file, rings, new Elastic(metric), options);
  return metric.heightBefore && metric;
}

/** The same with reports that use nearly all of each distance; certified on every edge before it is kept. */
export async function sharpenMap(id, rings, metric, options) {
  const mechanism = await sharpen(new Elastic(metric), options);
  await keepCarved(await fetchKept("files", id), rings, mechanism, options);
}

async function keepCarved(file, rings, mechanism, options) {
  const { ok, faults } = await verify(mechanism, { ...options, require: null });
  if (!ok) throw new GeoelasticError("input", `the map does not hold with this fence: ${faults.join("; ")}`);
  await keepParts(file, rings, mechanism);
}

/** A map as it is used, unpacked: it opens in half the time of its file. */
async function keepParts(file, rings, mechanism) {
  const parts = partsOf(mechanism.metric);
  await keep("carved", { id: file.id, of: file.sha256, fences: JSON.stringify(rings), parts, sha256: await digestOfParts(parts) });
}
