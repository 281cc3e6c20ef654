// SPDX-License-Identifier: Apache-2.0
// The least that a map must state to be worth its name: by default what the README promises, as in Python (judge/policy.py).

import { fourDigits, grouped } from "./claim.js";
import { LEVEL_UNITS, MASS_UNITS } from "./metric.js";

/**
 * `requirement` from level `l_from` to `l_top`; so many `secrets` with such a `share_of_mass`; a unit of mass that, if it is
 * stated, is the crowd of a disc of at least `unit_m`, and then at most two units in such a disc on average over the map.
 */
export const README = {
  requirement: { kind: "quadratic", l_star: Math.LN2 }, l_from: 0.35, l_top: Math.log(6), secrets: 2, share_of_mass: 0.1, unit_m: 300,
  mass_per_km2: 1000,
};

/** Entry D: the mass units that the ball of D level units must hold, up to l_top; 0 below l_from. It serves all levels below D + 1. */
export function requiredUnits({ requirement, l_from: from, l_top: top }) {
  const last = Math.floor(top * LEVEL_UNITS);
  return Float64Array.from({ length: last + 1 }, (_, d) => {
    if (d < Math.floor(from * LEVEL_UNITS)) return 0;
    const level = d === last ? top : ((d + 1) / LEVEL_UNITS) * (1 - 2 ** -53); // the largest number below d + 1
    return Math.ceil(massAt(requirement, level) * MASS_UNITS);
  });
}

function massAt({ kind, l_star: star, level: from, mass, levels, masses }, level) {
  if (kind === "quadratic") return (level / star) * (level / star);
  if (kind === "linear") return level / star;
  if (kind === "step") return level >= from ? mass : 0;
  return masses[levels.findIndex((known) => known >= level)];
}

/** In what a map (its facts and its header) is less than a policy; nothing if it is enough. */
export function shortOf(policy, facts, head) {
  const short = [];
  const units = (level) => Math.floor(level * LEVEL_UNITS);
  if (facts.secrets < policy.secrets) short.push(`${grouped(facts.secrets)} places can be secrets, not ${grouped(policy.secrets)} or more`);
  if (!(facts.share_of_mass >= policy.share_of_mass)) {
    short.push(`they hold ${threeDigits(100 * facts.share_of_mass)} % of the mass, not ${100 * policy.share_of_mass} % or more`);
  }
  if (units(head.l_from) > units(policy.l_from)) {
    short.push(`the crowd is asked for from level ${fourDigits(head.l_from)} on, not from ${fourDigits(policy.l_from)}`);
  }
  if (units(head.l_top) < units(policy.l_top)) {
    short.push(`the crowd is asked for up to level ${fourDigits(head.l_top)}, not up to ${fourDigits(policy.l_top)}`);
  }
  return [...short, ...lessAsked(policy, head), ...unitTooSmall(policy, facts)];
}

function lessAsked(policy, head) {
  const [ours, theirs] = [requiredUnits(policy), requiredUnits(head)];
  const first = Math.floor(Math.max(policy.l_from, head.l_from) * LEVEL_UNITS);
  const end = theirs.length >= ours.length ? ours.length : theirs.length - 1; // its last entry asks for part of a unit
  let worst = -1;
  for (let d = first; d < end; d++) {
    if (theirs[d] < ours[d] && (worst < 0 || theirs[d] / ours[d] < theirs[worst] / ours[worst])) worst = d;
  }
  if (worst < 0) return [];
  const [stated, due] = [theirs, ours].map((table) => fourDigits(table[worst] / MASS_UNITS));
  return [`at level ${fourDigits(worst / LEVEL_UNITS)} it asks for ${stated} units of mass, not ${due}`];
}

function unitTooSmall(policy, { unit_m: radius, mass_per_km2: density }) {
  if (radius !== null && radius < policy.unit_m) {
    return [`a unit of mass is the crowd of a disc of ${radius} m, not of ${policy.unit_m} m or more`];
  }
  const most = radius === null ? policy.mass_per_km2 : Math.min(policy.mass_per_km2, 2 / (Math.PI * (radius / 1000) ** 2));
  if (density <= most) return [];
  return [`it states ${fourDigits(density)} units of mass a square kilometre, more than ${fourDigits(most)}`];
}

function threeDigits(value) {
  return String(Number(value.toPrecision(3)));
}
