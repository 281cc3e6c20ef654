// SPDX-License-Identifier: Apache-2.0
// Fetching maps, when the person asks or on the days that a pack names: the catalogue, then a region's whole file. Every request is the same
// for every place in the region.

import { GeoelasticError } from "../../client/src/errors.js";
import { parseCatalogue, parseDrawing } from "./catalogue.js";
import { addMap, keep } from "./maps.js";
import { digestOf } from "./packing.js";

const DAY_MS = 24 * 3600 * 1000;

/** The folder of a pack from what a person typed; https only, or this machine. */
export function packFolder(typed) {
  const url = new URL(typed.includes("://") ? typed : `https://${typed}`);
  const here = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && here)) throw new GeoelasticError("input", "a pack must be at an https address");
  url.search = "";
  url.hash = "";
  url.pathname = url.pathname.replace(/(catalogue\.json|\/*)$/, "/");
  return url.href;
}

async function bytesAt(address, most) {
  const answer = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error" });
  if (!answer.ok || !answer.body) throw new GeoelasticError("file", `the server answered ${answer.status}`);
  const pieces = [];
  let size = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new GeoelasticError("file", "the server sent more than it said");
    }
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

export async function fetchCatalogue(folder) {
  return parseCatalogue(await bytesAt(new URL("catalogue.json", folder), 2 ** 20));
}

/** Fetch a region, check its digest, verify it, keep it. */
export async function addRegion(folder, region, everyDays, options) {
  const { id, name, licence, date } = region;
  const bytes = await fileAt(folder, region);
  const context = region.context && parseDrawing(await fileAt(folder, region.context));
  return addMap(bytes, { id, name, licence, date, context, from: folder, asked: Date.now(), everyDays }, options);
}

async function fileAt(folder, { file, bytes: most, sha256 }) {
  const bytes = await bytesAt(new URL(file, folder), most);
  if ((await digestOf(bytes)) !== sha256) throw new GeoelasticError("file", "the file is not the one that the catalogue names");
  return bytes;
}

/** The days on which a pack is asked for something newer: every so many since 1970, the same for everybody. */
const round = (time, everyDays) => Math.floor(time / DAY_MS / everyDays);

/** Whether such a day came since a map's pack was last asked. */
export const isDue = ({ from, asked, everyDays }, now = Date.now()) => Boolean(from) && round(now, everyDays) > round(asked, everyDays);

/** The day of the next time. */
export const nextDay = ({ asked, everyDays }) => new Date((round(asked, everyDays) + 1) * everyDays * DAY_MS).toISOString().slice(0, 10);

/** Ask the packs of these maps, and fetch what has another digest now: a sentence about each. fences: rings by id. */
export async function updateMaps(files, fences, options) {
  const catalogues = new Map();
  const lines = [];
  for (const file of files) {
    if (!catalogues.has(file.from)) catalogues.set(file.from, await fetchCatalogue(file.from));
    const { regions, everyDays } = catalogues.get(file.from);
    const now = regions.find(({ id }) => id === file.id);
    const asked = { ...file, asked: Date.now(), everyDays };
    if (now && now.sha256 !== file.sha256) {
      await addRegion(file.from, now, everyDays, { ...options, rings: fences[file.id] });
      lines.push(`${file.name} is of ${now.date} now`);
    } else {
      await keep("files", asked);
      lines.push(`${file.name} is ${now ? "up to date" : "no longer in its pack"}; its pack will be asked again from ${nextDay(asked)} on`);
    }
  }
  return lines;
}
