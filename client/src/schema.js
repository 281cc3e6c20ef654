// SPDX-License-Identifier: Apache-2.0
// What a `.geox` file may say: a closed schema with ranges (docs/format.md has the table). What is not in it is refused
// before anything is computed, so that no number can mean one thing here and another in Python, or be larger than what holds it.

import { GeoelasticError } from "./errors.js";

export const MAX_HEADER_BYTES = 2 ** 20;
export const MAX_DEPTH = 32;
const MAX_SIDE = 2 ** 15;
const MAX_CELLS = 2 ** 25;
const MAX_EDGES = 2 ** 26;
const MAX_LEVEL = 10;
const MAX_TEXT = 1000;
/** Crowds: 2^20 units of mass in all, of 2^-32 each, so that every sum is exact in doubles and 64-bit integers. */
const MAX_MASS = 2 ** 52;
const MAX_MEASURE = 2 ** 31;
/** An edge of 128 levels is longer than any that a requirement asks for; distances must stay below 2^31 - 1. */
const MAX_WEIGHT = 2 ** 20;
const MAX_DISTANCE = 2 ** 31 - 2;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string" && value.length <= MAX_TEXT;
const isWhole = (low, high) => (value) => Number.isInteger(value) && value >= low && value <= high;
const isReal = (low, high) => (value) => typeof value === "number" && value >= low && value <= high;
const isOneOf = (...known) => (value) => known.includes(value);
const isPositive = (value) => typeof value === "number" && value > 0 && value < Infinity;
const anything = () => true;

const GRID = {
  lat: isReal(-90, 90), lon: isReal(-180, 180), width_m: isReal(2 ** -20, 4e6), height_m: isReal(2 ** -20, 4e6),
  cell_m: isReal(2 ** -20, 4e6), rows: isWhole(1, MAX_SIDE), cols: isWhole(1, MAX_SIDE), east_m: isReal(-4e6, 4e6), north_m: isReal(-4e6, 4e6),
};
const HEADER = {
  format: isOneOf("geox"), geoelastic: isText, grid: isObject, layout: isOneOf("uniform", "adaptive"),
  method: isOneOf("conformal", "paper"), requirement: isObject, l_from: isReal(0, MAX_LEVEL), l_top: isReal(0, MAX_LEVEL),
  frame_cells: isWhole(0, MAX_SIDE), certificate: isObject, info: isObject, output: isText, exponent: Array.isArray, sticky: isText,
  arrays: Array.isArray,
};
const RELIEF = { output: isText, made_for: isText, certificate: isObject };
const REQUIREMENTS = {
  quadratic: { l_star: isPositive }, linear: { l_star: isPositive }, step: { level: isReal(0, Number.MAX_VALUE), mass: isPositive },
  custom: { name: isText, levels: Array.isArray, masses: Array.isArray },
};
/** Arrays with one number a location: the largest that each may hold. */
const BY_LOCATION = {
  exponent: 15, mass: MAX_MASS, measure: MAX_MEASURE, scale: 2 ** 28, place_east: 2 ** 25, place_north: 2 ** 25, height: 2 ** 24,
  fence: MAX_CELLS, framed: 1,
};
const BY_EDGE = { edge_i: MAX_CELLS, edge_j: MAX_CELLS, edge_level: MAX_WEIGHT };

function refuse(message) {
  throw new GeoelasticError("file", `the file is not sound: ${message}`);
}

/** Exactly these keys (and perhaps those of `optional`), each as its test asks. */
function requireKeys(what, value, tests, optional = {}) {
  if (!isObject(value)) refuse(`${what} must be an object`);
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(tests, key) && !Object.hasOwn(optional, key)) refuse(`${what} has an entry that is not known`);
  }
  for (const [key, test] of Object.entries(tests)) {
    if (!Object.hasOwn(value, key) || !test(value[key])) refuse(`'${key}' of ${what} is missing or out of range`);
  }
  for (const [key, test] of Object.entries(optional)) {
    if (Object.hasOwn(value, key) && !test(value[key])) refuse(`'${key}' of ${what} is out of range`);
  }
}

/** Refuse a header that says what no file says. `version` is the byte before it. */
export function requireHeader(head, version) {
  requireKeys("the header", head, HEADER, { relief: isObject });
  requireKeys("the grid", head.grid, GRID);
  const { rows, cols } = head.grid;
  if (rows * cols > MAX_CELLS) refuse(`a grid may have ${MAX_CELLS} cells`);
  if (head.l_from > head.l_top) refuse("'l_from' is above 'l_top'");
  requireRequirement(head);
  const counts = countsOf(head.arrays);
  const has = (name) => Object.hasOwn(counts, name);
  const [numerator, denominator, ...more] = head.exponent;
  // the only exponents with a guarantee: 1/2 on any map, 1 over certified heights
  if (more.length > 0 || numerator !== 1 || denominator !== (has("height") ? 1 : 2)) refuse("no guarantee is known for its exponent");
  if (has("height") !== Object.hasOwn(head, "relief")) refuse("heights and 'relief' belong together");
  if (has("height")) requireKeys("the relief", head.relief, RELIEF);
  if (has("place_east") !== has("place_north") || (has("place_east") && !has("scale"))) refuse("places belong together, and to scales");
  if (version !== (has("place_east") ? 3 : has("height") ? 2 : 1)) refuse("its format is not that of its arrays");
  requireCounts(head, counts);
}

function countsOf(described) {
  const counts = {};
  for (const entry of described) {
    const times = isObject(entry) && Object.hasOwn(entry, "times");
    const tests = { name: (name) => Object.hasOwn(BY_LOCATION, name) || Object.hasOwn(BY_EDGE, name), count: isWhole(0, MAX_EDGES) };
    requireKeys("an array", entry, times ? { ...tests, times: isOneOf("mass"), ratio: isReal(0, 2 ** 31) } : tests);
    if (Object.hasOwn(counts, entry.name)) refuse("an array is given twice");
    if (times && !(entry.name === "measure" && Object.hasOwn(counts, "mass"))) refuse("only the measure may follow the mass");
    counts[entry.name] = entry.count;
  }
  return counts;
}

function requireCounts({ layout, method, grid: { rows, cols } }, counts) {
  if ((layout === "adaptive") !== Object.hasOwn(counts, "exponent")) refuse("sides of locations belong to an adaptive layout");
  const n = layout === "adaptive" ? counts.exponent : rows * cols;
  if (n < 1 || n > rows * cols) refuse("the layout does not tile its grid");
  for (const name of ["mass", "measure"]) if (!Object.hasOwn(counts, name)) refuse(`the ${name} of locations is missing`);
  for (const name of Object.keys(counts)) if (Object.hasOwn(BY_LOCATION, name) && counts[name] !== n) refuse(`'${name}' has not one number a location`);
  const byScale = Object.hasOwn(counts, "scale");
  if (byScale !== (method === "conformal")) refuse("scales belong to a conformal metric");
  const edges = Object.keys(BY_EDGE).map((name) => counts[name]);
  if (edges.some((count) => count !== (byScale ? undefined : counts.edge_i)) || (!byScale && counts.edge_i === undefined)) {
    refuse("a metric has either scales or edges, with two ends and a level each");
  }
}

function requireRequirement({ requirement, l_top: lTop }) {
  const { kind } = requirement;
  if (!Object.hasOwn(REQUIREMENTS, kind)) refuse("its requirement is of no known kind");
  requireKeys("the requirement", requirement, { kind: anything, ...REQUIREMENTS[kind] });
  const { l_star: star, mass, levels, masses } = requirement;
  const rising = (values) => values.every((value, k) => isReal(0, Number.MAX_VALUE)(value) && (k === 0 || value >= values[k - 1]));
  if (kind === "custom" && !(levels.length === masses.length && levels.length > 0 && rising(levels) && rising(masses) && levels.at(-1) >= lTop)) {
    refuse("a requirement by levels must rise with them, up to 'l_top'");
  }
  const most = kind === "custom" ? masses.at(-1) : kind === "step" ? mass : kind === "linear" ? lTop / star : (lTop / star) ** 2;
  if (!(most * 2 ** 32 <= MAX_MASS)) refuse("it asks for more mass than a map may have");
}

/** Refuse arrays with numbers out of range. */
export function requireArrays(head, arrays) {
  for (const [name, most] of Object.entries({ ...BY_LOCATION, ...BY_EDGE })) {
    if (arrays[name] !== undefined && arrays[name].some((value) => value > most)) refuse(`'${name}' has a number above ${most}`);
  }
  const n = arrays.mass.length;
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  if (!(sum(arrays.mass) <= MAX_MASS)) refuse("it has more mass than a map may have");
  if (!(sum(arrays.measure) >= 1 && sum(arrays.measure) <= MAX_MEASURE)) refuse(`the measure must be between 1 and ${MAX_MEASURE} in all`);
  const { edge_i: tail, edge_j: tip } = arrays;
  if (tail?.some((i, e) => i >= n || tip[e] >= n || i === tip[e])) refuse("an edge leads nowhere");
}

/** Refuse a graph whose distances could leave 31 bits: no path is longer than the sum of the longest edge of each location. */
export function requireDistances({ start, weight }) {
  let total = 0;
  for (let i = 0; i + 1 < start.length; i++) {
    let longest = 0;
    for (let a = start[i]; a < start[i + 1]; a++) {
      if (!(weight[a] >= 0 && weight[a] <= MAX_WEIGHT)) refuse(`an edge is longer than ${MAX_WEIGHT}`);
      longest = Math.max(longest, weight[a]);
    }
    total += longest;
  }
  if (!(total <= MAX_DISTANCE)) refuse("paths could be longer than any distance");
}
