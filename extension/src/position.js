// SPDX-License-Identifier: Apache-2.0
/** A browser's position as plain data. */
export function exact({ coords, timestamp }) {
  const { latitude, longitude, accuracy, altitude, altitudeAccuracy, heading, speed } = coords;
  return { coords: { latitude, longitude, accuracy, altitude, altitudeAccuracy, heading, speed }, timestamp };
}
