// SPDX-License-Identifier: Apache-2.0
// Sentences that a lay person understands.

/** The factor that a level stands for. */
export function factorOf(level) {
  const factor = Math.exp(level);
  return factor < 3 ? factor.toFixed(2).replace(/\.?0+$/, "") : factor.toFixed(1).replace(/\.0$/, "");
}

/** How many buildings (weighted counts of what the map was made from) lie in so much mass; null if it does not say. */
export function buildingsIn(head, mass, cells) {
  const { a, b } = head.info;
  return b > 0 ? Math.max(0, Math.round((mass - a * cells) / b)) : null;
}

export function amount(number) {
  const rounded = number < 100 ? number : Number(number.toPrecision(3));
  return rounded.toLocaleString("en");
}

export function metres(m) {
  return m < 1000 ? `${Math.round(m / 10) * 10} m` : `${(m / 1000).toFixed(1)} km`;
}

/** What a ball means. */
export function ballSentence(head, ball, level) {
  const buildings = buildingsIn(head, ball.mass, ball.cells);
  const crowd = buildings === null ? `${ball.areaKm2.toPrecision(2)} km² around you` : `About ${amount(buildings)} buildings`;
  const where = buildings === null ? "" : ` (on ${ball.areaKm2.toPrecision(2)} km²)`;
  return `${crowd}${where} hide you up to a factor of ${factorOf(level)}: whatever you report, from none of them would it be more than ${factorOf(level)} times less likely.`;
}

export function laplaceSentence(head, crowd, elastic, meanM) {
  const [theirs, ours] = [crowd, elastic].map(({ mass, cells }) => buildingsIn(head, mass, cells) ?? cells);
  return `Planar Laplace with the noise of the busiest place (${metres(meanM)} on average, everywhere the same) hides you among ${amount(theirs)} buildings at this level, this map among ${amount(ours)}.`;
}
