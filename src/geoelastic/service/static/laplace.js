// SPDX-License-Identifier: Apache-2.0
// Planar Laplace, to compare with: noise in metres that is the same everywhere. For pictures, not for protection.

/** A number in (0, 1) from the browser's cryptographic source. */
function unitInterval() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return ((high >>> 6) * 67108864 + (low >>> 6) + 0.5) / 2 ** 52;
}

/** Points around (x, y) in metres: the radius is Gamma(2, 1/epsilon), the angle even. */
export function laplacePoints(x, y, epsilon, count) {
  return Array.from({ length: count }, () => {
    const radius = -(Math.log(unitInterval()) + Math.log(unitInterval())) / epsilon;
    const angle = 2 * Math.PI * unitInterval();
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
  });
}

/** Mass and cells within `radiusM` of the centre of a location, by location centres. */
export function discOf(metric, i, radiusM) {
  const [x, y] = metric.xy(i);
  let mass = 0;
  let cells = 0;
  for (let j = 0; j < metric.n; j++) {
    const [a, b] = metric.xy(j);
    if (j !== i && Math.hypot(a - x, b - y) > radiusM) continue;
    mass += metric.mass[j] / 2 ** 32;
    cells += metric.leaves.size[j] ** 2;
  }
  return { mass, cells };
}

/** The location outside fences and frame with most mass per area around it. */
export function busiest(metric) {
  let best = -1;
  let most = -1;
  for (let i = 0; i < metric.n; i++) {
    const density = metric.mass[i] / metric.leaves.size[i] ** 2;
    if (density > most && metric.fence[i] === 0 && metric.isSecret(i)) [best, most] = [i, density];
  }
  return best;
}
