// SPDX-License-Identifier: Apache-2.0
// Maps on the device: the file as it came; and the map ready to report by, with the fences carved in that were drawn, with the digests of the
// file that was verified here and of its own bytes. Whatever is missing, damaged, not verified or of other fences is no map.

import { carveFence } from "../../client/src/carve.js";
import { GeoelasticError } from "../../client/src/errors.js";
import { Elastic } from "../../client/src/mechanism.js";
import { Metric } from "../../client/src/metric.js";
import { sharpen } from "../../client/src/sharpen.js";
import { verify } from "../../client/src/verify.js";
import { digestOf, pack, unpack } from "./packing.js";

const NAME = "geoelastic";

let base = null;

/** The base, opened once; whoever deletes it closes it for all. */
function opened() {
  base ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => ["files", "carved"].forEach((store) => request.result.createObjectStore(store, { keyPath: "id" }));
    request.onsuccess = () => {
      request.result.onversionchange = request.result.onclose = () => {
        request.result.close();
        base = null;
      };
      resolve(request.result);
    };
    request.onerror = () => reject(request.error);
  });
  base.catch(() => (base = null));
  return base;
}

async function inStore(store, mode, act) {
  const transaction = (await opened()).transaction(store, mode);
  return new Promise((resolve, reject) => {
    const request = act(transaction.objectStore(store));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
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

/** The mechanism of a kept map with these fences in it; throws if there is none that is whole and verified. */
export async function openMap(id, rings = []) {
  performance.mark("map: read");
  const made = await fetchKept("carved", id);
  if (!made || made.verified !== made.of) throw new GeoelasticError("file", "the map was not verified on this device");
  if (made.fences !== JSON.stringify(rings)) throw new GeoelasticError("file", "the fences are not in the map");
  performance.mark("map: digest");
  if (made.sha256 !== (await digestOf(made.ready))) throw new GeoelasticError("file", "the map was changed");
  performance.mark("map: open");
  const mechanism = new Elastic(new Metric(unpack(made.ready)));
  performance.mark("map: done");
  return mechanism;
}

/**
 * A file, verified on this device and then kept, with its fences carved in. about: {id, name, licence, date, from}. What there was before
 * under its id stays in use until then, and for good if something does not hold.
 */
export async function addMap(bytes, about, { rings = [], ...options }) {
  const { ok, claim, faults, short } = await verify(bytes, { ...options, store: { get: () => undefined, set: () => undefined } });
  if (!ok) throw new GeoelasticError("file", `this map does not keep its promise: ${[...faults, ...short].join("; ")}`);
  const file = { ...about, bytes, sha256: await digestOf(bytes), claim };
  let { mechanism, later } = await carved(bytes, rings, options);
  if (later) mechanism = await sharpened(later, options);
  await keep("files", file);
  await keepReady(file, rings, mechanism);
}

/**
 * Carve all fences of a map, certify the result and keep it. At first reports go by half of each distance; `sharpenMap` finds the rest.
 * Nothing is kept unless the map with the fences holds what it states.
 */
export async function carveMap(id, rings, options) {
  const file = await fetchKept("files", id);
  const { mechanism, later } = await carved(file.bytes, rings, options);
  await keepReady(file, rings, mechanism);
  return later;
}

/** The same with reports that use nearly all of each distance; certified on every edge before it is kept. */
export async function sharpenMap(id, rings, later, options) {
  const mechanism = await sharpened(later, options);
  await keepReady(await fetchKept("files", id), rings, mechanism);
}

/** {mechanism, later}: a file's map with fences, and if it can be sharpened the metric to do that with. */
async function carved(bytes, rings, options) {
  const whole = await Elastic.fromBytes(bytes);
  if (rings.length === 0) return { mechanism: whole };
  let { metric } = whole;
  for (const ring of rings) metric = carveFence(metric, ring).metric;
  return { mechanism: await certified(new Elastic(metric), options), later: metric.heightBefore && metric };
}

async function sharpened(metric, options) {
  return certified(await sharpen(new Elastic(metric), options), options);
}

async function certified(mechanism, options) {
  const { ok, faults } = await verify(mechanism, { ...options, require: null });
  if (!ok) throw new GeoelasticError("input", `the map does not hold with this fence: ${faults.join("; ")}`);
  return mechanism;
}

/** A map that was verified, ready to report by: nothing has to be unpacked, computed or checked again but its digest. */
async function keepReady({ id, sha256 }, rings, mechanism) {
  const ready = pack(mechanism.metric.ready());
  await keep("carved", { id, of: sha256, verified: sha256, fences: JSON.stringify(rings), ready, sha256: await digestOf(ready) });
}
