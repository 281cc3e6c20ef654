// SPDX-License-Identifier: Apache-2.0
// What a check found, as data and as one paragraph in plain words.

import { MASS_UNITS } from "./metric.js";

/** The claim of a map from what was checked of it. */
export function claimOf(metric, { secrets, short, least, crossings, weightsHold, edges }) {
  const faults = [];
  if (secrets === 0) faults.push("no place can be a secret");
  if (short > 0) faults.push(`${short} places have not the crowd that is required`);
  if (crossings > 0) faults.push(`${crossings} edges cross a fence`);
  if (!weightsHold) faults.push("the weights of reports fall too fast");
  if (edges.over > 0) faults.push("reports use more than an edge's length somewhere");
  const { head, height, n, leaves } = metric;
  const total = { cells: 0, mass: 0 };
  const hidden = { cells: 0, mass: 0 };
  for (let i = 0; i < n; i++) {
    for (const sum of metric.isSecret(i) ? [total, hidden] : [total]) {
      sum.cells += leaves.size[i] ** 2;
      sum.mass += metric.mass[i];
    }
  }
  const claim = {
    ok: faults.length === 0, faults, locations: n, secrets, share_of_area: hidden.cells / total.cells,
    share_of_mass: total.mass > 0 ? hidden.mass / total.mass : 0, fences: new Set(metric.fence.filter((k) => k > 0)).size,
    requirement: head.requirement, l_from: head.l_from, l_top: head.l_top, mass: total.mass / MASS_UNITS,
    unit_m: Number.isFinite(head.info.r_small_m) ? head.info.r_small_m : null, output: head.output, sharpened: height !== undefined,
    least_ratio: Number.isFinite(least) ? least : null, edges: edges.checked, worst_edge: edges.worst,
  };
  return { ...claim, words: inWords(claim) };
}

function inWords(claim) {
  const share = (part) => `${Math.floor(1000 * part) / 10} %`;
  const level = (value) => Number(value.toPrecision(4));
  const { requirement } = claim;
  const asked = {
    quadratic: () => `(l / ${level(requirement.l_star)})² units of mass`, linear: () => `l / ${level(requirement.l_star)} units of mass`,
    step: () => `${level(requirement.mass)} units of mass from l = ${level(requirement.level)} on`, custom: () => "as much mass as its table says",
  }[requirement.kind]();
  const unit = claim.unit_m === null ? "" : `; a unit is what a disc of ${claim.unit_m} m holds on average where the map's city is`;
  const reports = claim.sharpened
    ? `drawn by all of the distances over a relief, and on each of its ${claim.edges.toLocaleString("en")} edges a report's chance changes by at most e^length`
    : "drawn by half of each distance, so that a report's chance changes by at most e^distance";
  return [
    claim.ok ? "This map holds what it promises." : `This map does not hold what it promises: ${claim.faults.join("; ")}.`,
    `${claim.secrets.toLocaleString("en")} of ${claim.locations.toLocaleString("en")} places can be secrets outside fences (${share(claim.share_of_area)} of the area, ${share(claim.share_of_mass)} of the mass).`,
    `Each of them must have, within every level l from ${level(claim.l_from)} to ${level(claim.l_top)}, ${asked} around it${unit}; the whole map has ${level(claim.mass)}.`,
    `Reports go by the measure '${claim.output}', ${reports}.`,
    "Not covered: places in the frame, and what several reports tell together.",
  ].join(" ");
}
