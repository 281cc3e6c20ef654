// SPDX-License-Identifier: Apache-2.0
// The catalogue of a pack, as docs/packs.md describes it and as src/geoelastic/packs/catalogue.py reads it: nothing else is accepted.

import { GeoelasticError } from "../../client/src/errors.js";
import { parseJson } from "../../client/src/json.js";

const REGION = ["id", "name", "part_of", "outline", "km", "locations", "secrets", "file", "bytes", "sha256", "date", "licence", "context"];
const ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const LINE = /^[^\x00-\x1f\x7f]*$/;
const MOST_TEXT = 1000;

function must(holds, what) {
  if (!holds) throw new GeoelasticError("file", `the catalogue is not one: ${what}`);
}

function closed(value, name, entries) {
  must(value !== null && typeof value === "object" && !Array.isArray(value), `'${name}' must be an object`);
  must(Object.keys(value).length === entries.length && entries.every((entry) => Object.hasOwn(value, entry)), `'${name}' must have other entries`);
}

function text(value, name, pattern = LINE) {
  must(typeof value === "string" && value.length <= MOST_TEXT && pattern.test(value) && value.isWellFormed(), `'${name}' is no such text`);
  return value;
}

function number(value, name, low, high) {
  must(typeof value === "number" && value >= low && value <= high, `'${name}' must be a number in [${low}, ${high}]`);
  return value;
}

function whole(value, name, low, high) {
  must(Number.isInteger(number(value, name, low, high)), `'${name}' must be a whole number`);
  return value;
}

function listed(value, name, least, most) {
  must(Array.isArray(value) && value.length >= least && value.length <= most, `'${name}' must be a list of ${least} to ${most}`);
  return value;
}

function isDay(day) {
  const time = Date.parse(`${day}T00:00:00Z`);
  return !day.startsWith("0000") && Number.isFinite(time) && new Date(time).toISOString().slice(0, 10) === day;
}

function region(entry, k) {
  const name = `regions[${k}]`;
  closed(entry, name, REGION);
  text(entry.id, `${name}.id`, ID);
  for (const line of ["name", "licence"]) text(entry[line], `${name}.${line}`);
  if (entry.part_of !== null) text(entry.part_of, `${name}.part_of`, ID);
  for (const corner of listed(entry.outline, `${name}.outline`, 3, 64)) {
    listed(corner, `${name}.outline`, 2, 2);
    number(corner[0], `${name}.outline`, -90, 90);
    number(corner[1], `${name}.outline`, -180, 180);
  }
  for (const side of listed(entry.km, `${name}.km`, 2, 2)) number(side, `${name}.km`, 0, 4000);
  whole(entry.locations, `${name}.locations`, 1, 2 ** 31);
  whole(entry.secrets, `${name}.secrets`, 1, entry.locations);
  whole(entry.bytes, `${name}.bytes`, 1, 2 ** 29);
  text(entry.sha256, `${name}.sha256`, /^[0-9a-f]{64}$/);
  must(isDay(text(entry.date, `${name}.date`, /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/)), `'${name}.date' must be a day`);
  must(entry.file === `${entry.id}-${entry.sha256.slice(0, 12)}.geox`, `'${name}.file' must be named after its digest`);
  if (entry.context !== null) drawing(entry, `${name}.context`);
  return entry;
}

function drawing({ id, context }, name) {
  closed(context, name, ["file", "bytes", "sha256"]);
  whole(context.bytes, `${name}.bytes`, 1, 2 ** 20);
  text(context.sha256, `${name}.sha256`, /^[0-9a-f]{64}$/);
  must(context.file === `${id}-${context.sha256.slice(0, 12)}.json`, `'${name}.file' must be named after its digest`);
}

const DRAWN = ["water", "river", "coast", "road", "street"];
const MOST_CORNERS = 2 ** 16;
const MOST_NAMES = 100;
const FARTHEST_M = 4e6;

/** Water, roads and names {lines, names} of the bytes of a region's drawing: metres from the middle of its map. */
export function parseDrawing(bytes) {
  const given = parseJson(bytes);
  closed(given, "drawing", ["lines", "names"]);
  closed(given.lines, "lines", DRAWN);
  for (const kind of DRAWN) {
    for (const line of listed(given.lines[kind], kind, 0, MOST_CORNERS)) {
      must(listed(line, kind, 4, 2 * MOST_CORNERS).length % 2 === 0, `'${kind}' must have corners`);
      for (const metres of line) number(metres, kind, -FARTHEST_M, FARTHEST_M);
    }
  }
  for (const entry of listed(given.names, "names", 0, MOST_NAMES)) {
    const [x, y, rank, called] = listed(entry, "names", 4, 4);
    for (const metres of [x, y]) number(metres, "names", -FARTHEST_M, FARTHEST_M);
    whole(rank, "names", 0, 3);
    text(called, "names");
  }
  return given;
}

/** {name, every_days, regions} of the bytes of a catalogue. */
export function parseCatalogue(bytes) {
  const given = parseJson(bytes);
  closed(given, "catalogue", ["format", "version", "name", "every_days", "regions"]);
  must(given.format === "geoelastic-pack" && given.version === 1, "another format or version");
  text(given.name, "name");
  whole(given.every_days, "every_days", 1, 366);
  const regions = listed(given.regions, "regions", 1, 1000).map(region);
  must(new Set(regions.map(({ id }) => id)).size === regions.length, "every region must have an id of its own");
  return { name: given.name, everyDays: given.every_days, regions };
}
