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
  return Number.isFinite(a) && b > 0 ? Math.max(0, Math.round((mass - a * cells) / b)) : null;
}

/** So much mass a cell, as a person would say it. */
export function densityWords({ head, cellM }, mass) {
  const squares = 1e6 / cellM ** 2;
  const buildings = buildingsIn(head, mass * squares, squares);
  if (buildings === null) return `${(mass * squares).toPrecision(2)} crowds a km²`;
  return buildings === 0 ? "hardly a building" : `${amount(Number(buildings.toPrecision(2)))} buildings a km²`;
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
  const side = metres(1000 * Math.sqrt(ball.areaKm2)); // a square is easier to see than so many km²
  const crowd = buildings === null ? `Everybody on some ${side} by ${side} around you hides you` : `About ${amount(Number(buildings.toPrecision(2)))} buildings on some ${side} by ${side} hide you`;
  const factor = factorOf(level);
  return `${crowd}: your report might come from any of them, at most ${factor} times more or less likely.`;
}

export function laplaceSentence(head, crowd, elastic, meanM) {
  const [theirs, ours] = [crowd, elastic].map(({ mass, cells }) => buildingsIn(head, mass, cells) ?? cells);
  return `Planar Laplace with the noise of the busiest place (${metres(meanM)} on average, everywhere the same) hides you among ${amount(theirs)} buildings at this level, this map among ${amount(ours)}.`;
}
