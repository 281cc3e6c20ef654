// SPDX-License-Identifier: Apache-2.0
// Transverse Mercator on WGS 84 by Krüger's series to the sixth order (Karney 2011, equations 7 to 36): the plane of a map.

const MAJOR_M = 6378137;
const FLATTENING = 1 / 298.257223563;
const THIRD = FLATTENING / (2 - FLATTENING);
const ECCENTRICITY = Math.sqrt(FLATTENING * (2 - FLATTENING));
const RADIUS_M = (MAJOR_M / (1 + THIRD)) * series([1, 0, 1 / 4, 0, 1 / 64, 0, 1 / 256]);
const FORWARD = [
  [0, 1 / 2, -2 / 3, 5 / 16, 41 / 180, -127 / 288, 7891 / 37800],
  [0, 0, 13 / 48, -3 / 5, 557 / 1440, 281 / 630, -1983433 / 1935360],
  [0, 0, 0, 61 / 240, -103 / 140, 15061 / 26880, 167603 / 181440],
  [0, 0, 0, 0, 49561 / 161280, -179 / 168, 6601661 / 7257600],
  [0, 0, 0, 0, 0, 34729 / 80640, -3418889 / 1995840],
  [0, 0, 0, 0, 0, 0, 212378941 / 319334400],
].map(series);
const INVERSE = [
  [0, 1 / 2, -2 / 3, 37 / 96, -1 / 360, -81 / 512, 96199 / 604800],
  [0, 0, 1 / 48, 1 / 15, -437 / 1440, 46 / 105, -1118711 / 3870720],
  [0, 0, 0, 17 / 480, -37 / 840, -209 / 4480, 5569 / 90720],
  [0, 0, 0, 0, 4397 / 161280, -11 / 504, -830251 / 7257600],
  [0, 0, 0, 0, 0, 4583 / 161280, -108847 / 3991680],
  [0, 0, 0, 0, 0, 0, 20648693 / 638668800],
].map(series);
const DEGREE = Math.PI / 180;

function series(coefficients) {
  return coefficients.reduceRight((sum, coefficient) => sum * THIRD + coefficient, 0);
}

function twisted(coefficients, sign, xi, eta) {
  let a = xi;
  let b = eta;
  for (let j = 1; j <= 6; j++) {
    const c = sign * coefficients[j - 1];
    a += c * Math.sin(2 * j * xi) * Math.cosh(2 * j * eta);
    b += c * Math.cos(2 * j * xi) * Math.sinh(2 * j * eta);
  }
  return [a, b];
}

/** Tangent of the conformal latitude from the tangent of the latitude. */
function conformal(tangent) {
  const sine = tangent / Math.hypot(1, tangent);
  const sigma = Math.sinh(ECCENTRICITY * Math.atanh(ECCENTRICITY * sine));
  return tangent * Math.hypot(1, sigma) - sigma * Math.hypot(1, tangent);
}

/** Its inverse by Newton's method (Karney 2011, equations 19 to 21). */
function geographic(target) {
  const squared = ECCENTRICITY * ECCENTRICITY;
  let tangent = target / (1 - squared);
  for (let k = 0; k < 6; k++) {
    const here = conformal(tangent);
    const step =
      ((target - here) / Math.hypot(1, here)) *
      ((1 + (1 - squared) * tangent * tangent) / ((1 - squared) * Math.hypot(1, tangent)));
    tangent += step;
    if (!(Math.abs(step) > 1e-15 * Math.max(1, Math.abs(tangent)))) break;
  }
  return tangent;
}

export class Projection {
  /** Metres east and north of the point that lies (eastM, northM) from (lat, lon). */
  constructor(lat, lon, eastM = 0, northM = 0) {
    this.lon = lon;
    this.eastM = eastM;
    this.northM = northM;
    this.origin = twisted(FORWARD, 1, Math.atan(conformal(Math.tan(lat * DEGREE))), 0)[0];
  }

  toXY(lat, lon) {
    const away = ((((lon - this.lon + 180) % 360) + 360) % 360 - 180) * DEGREE;
    const t = conformal(Math.tan(lat * DEGREE));
    const xi = Math.atan2(t, Math.cos(away));
    const eta = Math.asinh(Math.sin(away) / Math.hypot(t, Math.cos(away)));
    const [a, b] = twisted(FORWARD, 1, xi, eta);
    return [RADIUS_M * b - this.eastM, RADIUS_M * (a - this.origin) - this.northM];
  }

  toLatLon(x, y) {
    const [xi, eta] = twisted(INVERSE, -1, (y + this.northM) / RADIUS_M + this.origin, (x + this.eastM) / RADIUS_M);
    const t = Math.sin(xi) / Math.hypot(Math.sinh(eta), Math.cos(xi));
    const lon = this.lon + Math.atan2(Math.sinh(eta), Math.cos(xi)) / DEGREE;
    return [Math.atan(geographic(t)) / DEGREE, ((lon + 540) % 360) - 180];
  }
}
