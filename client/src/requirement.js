// SPDX-License-Identifier: Apache-2.0
// What must lie within each level, and whether it does: used on the device when a fence is drawn there.

import { LEVEL_UNITS, MASS_UNITS } from "./metric.js";

/** The mass that a requirement asks for at a level. */
export function requiredMass(requirement, level) {
  const { kind, l_star: star, levels, masses } = requirement;
  if (kind === "quadratic") return (level / star) ** 2;
  if (kind === "linear") return level / star;
  if (kind === "step") return level >= requirement.level ? requirement.mass : 0;
  const k = levels.findIndex((known) => known >= level);
  return masses[k < 0 ? masses.length - 1 : k];
}

/**
 * Entry D: the mass units that the ball of D level units must hold. Rounded up twice: another machine's powers may differ in
 * the last bit, and asking for a unit more (2^-32 of a crowd) is safe.
 */
export function requirementTable({ requirement, l_from: lFrom, l_top: lTop }) {
  const table = new Float64Array(Math.floor(lTop * LEVEL_UNITS) + 1);
  for (let d = Math.floor(lFrom * LEVEL_UNITS); d < table.length; d++) {
    const level = Math.min((d + 1) / LEVEL_UNITS, lTop);
    table[d] = Math.ceil(requiredMass(requirement, level) * MASS_UNITS * (1 + 2 ** -50)) + 1;
  }
  return table;
}

/** The least m(B_D) / table[D] of a search that was expanded to the table's end, and the D where it is. */
export function leastRatio(search, mass, table) {
  let inside = 0;
  let at = 0;
  let least = Infinity;
  let level = 0;
  for (let k = 0; k < search.settled; k++) {
    const d = search.dist[search.order[k]];
    if (d > at) {
      if (table[d - 1] > 0 && inside / table[d - 1] <= least) [least, level] = [inside / table[d - 1], d - 1];
      at = d;
    }
    inside += mass[search.order[k]];
  }
  const top = table.length - 1;
  if (table[top] > 0 && inside / table[top] <= least) [least, level] = [inside / table[top], top];
  return { least, level };
}
