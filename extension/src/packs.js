// SPDX-License-Identifier: Apache-2.0
// Fetching maps, when the person asks: the catalogue, then a region's whole file. Every request is the same for every place in the region.

import { GeoelasticError } from "../../client/src/errors.js";
import { parseCatalogue } from "./catalogue.js";
import { addMap, digestOf } from "./maps.js";

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
export async function addRegion(folder, region, options) {
  const bytes = await bytesAt(new URL(region.file, folder), region.bytes);
  if ((await digestOf(bytes)) !== region.sha256) throw new GeoelasticError("file", "the file is not the one that the catalogue names");
  const { id, name, licence, date } = region;
  return addMap(bytes, { id, name, licence, date, from: folder, asked: Date.now() }, options);
}
