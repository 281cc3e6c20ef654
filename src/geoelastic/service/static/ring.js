// SPDX-License-Identifier: Apache-2.0
// A fence to begin with around a place.

/** Irregular and off-centre: a circle around a home gives the home away. Corners [lat, lon]. */
export function ringAround(metric, [lat, lon]) {
  const [x, y] = metric.projection.toXY(lat, lon);
  const random = (low, high) => low + (high - low) * (crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32);
  const size = Math.max(250, 3 * metric.cellM);
  const shift = [random(-0.5, 0.5) * size, random(-0.5, 0.5) * size];
  return Array.from({ length: 9 }, (_, k) => {
    const radius = size * random(1, 1.6);
    const angle = (2 * Math.PI * (k + random(-0.3, 0.3))) / 9;
    return metric.projection.toLatLon(x + shift[0] + radius * Math.cos(angle), y + shift[1] + radius * Math.sin(angle));
  });
}
