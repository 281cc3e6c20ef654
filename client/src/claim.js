// SPDX-License-Identifier: Apache-2.0
// What a map states, as data and as one paragraph in plain words: the same data and the same words as in Python (judge/).

import { MASS_UNITS } from "./metric.js";

const NOT_COVERED = "places in the frame, and what several reports tell together";

/** The facts of a map: read off what will be sampled. Whether they hold is for `verify` to say, whether they are enough for a policy. */
export function factsOf(metric) {
  const { head, leaves, n } = metric;
  const all = { cells: 0, mass: 0 };
  const hidden = { count: 0, cells: 0, mass: 0 };
  let fenced = 0;
  for (let i = 0; i < n; i++) {
    const open = metric.isSecret(i) && metric.fence[i] === 0;
    if (metric.isSecret(i) && !open) fenced++;
    if (open) hidden.count++;
    for (const sum of open ? [all, hidden] : [all]) {
      sum.cells += leaves.size[i] ** 2;
      sum.mass += metric.mass[i];
    }
  }
  const { levels, masses, ...requirement } = head.requirement;
  const mass = all.mass / MASS_UNITS;
  return {
    locations: n, secrets: hidden.count, fenced, fences: new Set(metric.fence.filter((k) => k > 0)).size,
    share_of_locations: hidden.count / n, share_of_area: hidden.cells / all.cells, share_of_mass: all.mass > 0 ? hidden.mass / all.mass : 0,
    requirement, l_from: head.l_from, l_top: head.l_top, mass, mass_per_km2: mass / (all.cells * (metric.cellM / 1000) ** 2),
    unit_m: stated(head.info.r_small_m), spread_m: stated(head.info.spread_m) ?? 0,
    output: head.output, sharpened: metric.height !== undefined,
  };
}

/** A number that a file states, if it is one and makes sense. */
function stated(value) {
  return typeof value === "number" && value > 0 ? value : null;
}

/** The verdict, then the facts. */
export function claimWords(facts, { faults, short, required }) {
  const verdict = faults.length > 0 ? `This map does not hold what it states: ${faults.join("; ")}.`
    : short.length > 0 && required ? `This map holds what it states, but that is less than is required: ${short.join("; ")}.`
      : "This map holds what it states.";
  return `${verdict} ${factWords(facts)}`;
}

function factWords(facts) {
  const [area, mass] = [facts.share_of_area, facts.share_of_mass].map((part) => `${Math.floor(1000 * part) / 10} %`);
  const fenced = facts.fenced > 0 ? `, and ${grouped(facts.fenced)} more inside fences, where all places are one` : "";
  const disc = facts.unit_m === null ? "what one unit is, the file does not state"
    : `a unit is what a disc of ${fourDigits(facts.unit_m)} m holds on average where the map's city is`;
  const unit = facts.spread_m === 0 ? disc
    : `${disc}; mass was spread by ${fourDigits(facts.spread_m)} m, so that crowds are counted where they are not`;
  const reports = facts.sharpened
    ? "by all of each distance over a relief, so that along an edge its chance changes by at most e^length"
    : "by half of each distance, so that between two places a report's chance changes by at most e^distance";
  return [
    `${grouped(facts.secrets)} of ${grouped(facts.locations)} places can be secrets (${area} of the area, ${mass} of the mass)${fenced}.`,
    `Each of them must have, within every level l from ${fourDigits(facts.l_from)} to ${fourDigits(facts.l_top)}, ${asked(facts.requirement)} around it;`,
    `the whole map has ${fourDigits(facts.mass)}, ${fourDigits(facts.mass_per_km2)} a square kilometre; ${unit}.`,
    `Reports go by the measure '${facts.output.slice(0, 40)}', ${reports}. Not covered: ${NOT_COVERED}.`,
  ].join(" ");
}

function asked({ kind, l_star: star, level, mass }) {
  if (kind === "quadratic") return `(l / ${fourDigits(star)})² units of mass`;
  if (kind === "linear") return `l / ${fourDigits(star)} units of mass`;
  if (kind === "step") return `${fourDigits(mass)} units of mass from l = ${fourDigits(level)} on`;
  return "as much mass as its table says";
}

export function grouped(count) {
  return count.toLocaleString("en");
}

export function fourDigits(value) {
  return String(Number(value.toPrecision(4)));
}
