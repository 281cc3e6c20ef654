// SPDX-License-Identifier: Apache-2.0
// What a `.geox` file may say: a closed schema with ranges (docs/format.md has the table). What is not in it is refused
// before anything is computed, so that no number can mean one thing here and another in Python, or be larger than what holds it.

import { GeoelasticError } from "./errors.js";

const MAX_SIDE = 2 ** 15;
const MAX_CELLS = 2 ** 25;
const MAX_COUNT = 2 ** 26;
const MAX_LEVEL = 10;
const MAX_TEXT = 1000;
/** Crowds: 2^20 units of mass in all, of 2^-32 each, so that every sum is exact in doubles and 64-bit integers. */
const MAX_MASS = 2 ** 52;
const MAX_MEASURE = 2 ** 31;
/** Mass that a requirement may ask for at l_top, at least something. */
const [LEAST_DEMAND, MAX_DEMAND] = [2 ** -32, 2 ** 20];
/**
 * The longest edge, and how far the first location of a connected part may be from the others, in level units: distances are
 * then below 2^24, far from the 2^31 - 1 that mean unreachable.
 */
const MAX_WEIGHT = 2 ** 23;
const MAX_SPREAD = 2 ** 23;
/** log2 of the side of the largest location. */
const MAX_EXPONENT = 8;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
// half of a pair of surrogates is no character; Python refuses it too
const isText = (value) => typeof value === "string" && value.length <= MAX_TEXT && !/\p{Surrogate}/u.test(value);
const isWhole = (low, high) => (value) => Number.isInteger(value) && value >= low && value <= high;
const isReal = (low, high) => (value) => typeof value === "number" && value >= low && value <= high;
const isOneOf = (...known) => (value) => known.includes(value);
const isHash = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isList = (least, most) => (value) => Array.isArray(value) && value.length >= least && value.length <= most;
const isMetres = isReal(2 ** -20, 4e6);
const anything = () => true;

const GRID = {
  lat: isReal(-90, 90), lon: isReal(-360, 360), width_m: isMetres, height_m: isMetres, cell_m: isMetres,
  rows: isWhole(1, MAX_SIDE), cols: isWhole(1, MAX_SIDE), east_m: isReal(-4e6, 4e6), north_m: isReal(-4e6, 4e6),
};
const HEADER = {
  format: isOneOf("geox"), geoelastic: isText, grid: isObject, layout: isOneOf("uniform", "adaptive"),
  method: isOneOf("conformal", "paper"), requirement: isObject, l_from: isReal(0, MAX_LEVEL), l_top: isReal(0, MAX_LEVEL),
  frame_cells: isWhole(0, MAX_SIDE), certificate: isObject, info: isObject, output: isText, exponent: isList(2, 2), sticky: isText,
  arrays: isList(0, 13),
};
const RELIEF = { output: isText, made_for: isHash, certificate: isObject };
/** A 2^slack-th of each edge is given up for what heights are not exact; this one goes without saying. */
export const COARSE_SLACK = 7;
const RELIEF_MAY = { slack: isWhole(1, 24) };
const isStar = isReal(2 ** -10, 2 ** 10);
const REQUIREMENTS = {
  quadratic: { l_star: isStar }, linear: { l_star: isStar }, step: { level: isReal(0, MAX_LEVEL), mass: isReal(0, MAX_DEMAND) },
  custom: { name: isText, levels: isList(2, 4097), masses: isList(2, 4097) },
};
/** Arrays with one number per location: the largest that each may hold. */
const BY_LOCATION = {
  exponent: MAX_EXPONENT, mass: MAX_MASS, measure: MAX_MEASURE, scale: 2 ** 28, place_east: 2 ** 25, place_north: 2 ** 25, height: 2 ** 24,
  fence: MAX_CELLS, framed: 1,
};
/** The arrays with one number per pair of neighbours. */
const BY_PAIR = { edge_rise: 255 };
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
  if (head.frame_cells > Math.floor(Math.min(rows, cols) / 2)) refuse("the frame is larger than the grid");
  if (!(head.l_from < head.l_top)) refuse("'l_from' must be below 'l_top'");
  requireRequirement(head);
  const counts = countsOf(head.arrays);
  const has = (name) => Object.hasOwn(counts, name);
  const [numerator, denominator] = head.exponent;
  // the only exponents with a guarantee: 1/2 on any map, 1 over certified heights
  if (numerator !== 1 || denominator !== (has("height") ? 1 : 2)) refuse("no guarantee is known for its exponent");
  if (has("height") !== Object.hasOwn(head, "relief")) refuse("heights and 'relief' belong together");
  if (has("height")) requireKeys("the relief", head.relief, RELIEF, RELIEF_MAY);
  if (has("place_east") !== has("place_north") || (has("place_east") && !has("scale"))) refuse("places belong together, and to scales");
  if (has("edge_rise") && !has("scale")) refuse("rises belong to scales");
  if (version !== (has("edge_rise") ? 4 : has("place_east") ? 3 : has("height") ? 2 : 1)) refuse("its format is not that of its arrays");
  requireCounts(head, counts);
}

function countsOf(described) {
  const counts = {};
  for (const entry of described) {
    const times = isObject(entry) && Object.hasOwn(entry, "times");
    const tests = { name: (name) => [BY_LOCATION, BY_EDGE, BY_PAIR].some((known) => Object.hasOwn(known, name)), count: isWhole(0, MAX_COUNT) };
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
  for (const name of Object.keys(counts)) if (Object.hasOwn(BY_LOCATION, name) && counts[name] !== n) refuse(`'${name}' has not one number per location`);
  const byScale = Object.hasOwn(counts, "scale");
  if (byScale !== (method === "conformal")) refuse("scales belong to a conformal metric");
  const edges = Object.keys(BY_EDGE).map((name) => counts[name]);
  if (edges.some((count) => count !== (byScale ? undefined : counts.edge_i)) || (!byScale && counts.edge_i === undefined)) {
    refuse("a metric has either scales or edges, with two ends and a level each");
  }
}

/** It must ask for something at l_top, and for no more than a map can hold. */
function requireRequirement({ requirement, l_top: lTop }) {
  const { kind } = requirement;
  if (typeof kind !== "string" || !Object.hasOwn(REQUIREMENTS, kind)) refuse("its requirement is of no known kind");
  requireKeys("the requirement", requirement, { kind: anything, ...REQUIREMENTS[kind] });
  const { l_star: star, level, mass, levels, masses } = requirement;
  if (kind === "step" && level > lTop) refuse("its requirement begins beyond 'l_top'");
  if (kind === "custom") requireRising(levels, masses, lTop);
  const asked = { quadratic: () => (lTop / star) ** 2, linear: () => lTop / star, step: () => mass, custom: () => masses[levels.findIndex((known) => known >= lTop)] };
  const most = asked[kind]();
  if (!(most >= LEAST_DEMAND && most <= MAX_DEMAND)) refuse("it asks for no mass at 'l_top', or for more than a map may have");
}

function requireRising(levels, masses, lTop) {
  const known = levels.every(isReal(0, MAX_LEVEL)) && masses.every(isReal(0, 2 ** 30)) && levels.length === masses.length;
  const rising = levels.every((level, k) => k === 0 || (level > levels[k - 1] && masses[k] >= masses[k - 1]));
  if (!known || !rising || levels.at(-1) < lTop) refuse("levels and masses of a requirement must rise together, up to 'l_top'");
}

/** Refuse arrays with numbers out of range. */
export function requireArrays({ grid: { rows, cols } }, arrays) {
  for (const [name, most] of Object.entries({ ...BY_LOCATION, ...BY_EDGE, ...BY_PAIR })) {
    if (arrays[name] !== undefined && arrays[name].some((value) => value > most)) refuse(`'${name}' has a number above ${most}`);
  }
  const n = arrays.mass.length;
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  if (arrays.exponent !== undefined && sum(arrays.exponent.map((k) => 4 ** k)) !== rows * cols) refuse("the layout does not tile its grid");
  if (!(sum(arrays.mass) <= MAX_MASS)) refuse("it has more mass than a map may have");
  if (!(sum(arrays.measure) >= 1 && sum(arrays.measure) <= MAX_MEASURE)) refuse(`the measure must be between 1 and ${MAX_MEASURE} in all`);
  const { edge_i: tail, edge_j: tip, fence } = arrays;
  if (tail?.some((i, e) => !(i < tip[e] && tip[e] < n))) refuse("an edge must join two locations, the lower number first");
  if (fence && tail?.some((i, e) => fence[i] > 0 || fence[tip[e]] > 0)) refuse("an edge leads into a fence or out of it");
}

/** Refuse rises that are not one for each pair of neighbours. */
export function requireRises(rise, { index }) {
  if (rise !== undefined && 2 * rise.length !== index.length) refuse("'edge_rise' has not one number per pair of neighbours");
}

/** Refuse a graph with an edge that is too long, before anything is allocated for searches of it. */
export function requireWeights({ weight }) {
  if (!weight.every((length) => length >= 0 && length <= MAX_WEIGHT)) refuse(`an edge is longer than ${MAX_WEIGHT}`);
}

/** Refuse distances (of every location from the first of its connected part) that are too long. */
export function requireSpread(distances) {
  if (!distances.every((distance) => distance <= MAX_SPREAD)) refuse(`a location is farther than ${MAX_SPREAD} from the first that it can reach`);
}
