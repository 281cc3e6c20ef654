// SPDX-License-Identifier: Apache-2.0
// The icon, drawn: a ring stretched where land is empty, a crowd of dots inside it. PNG by hand, since it is three chunks.

import { zlibSync } from "fflate"; // in JavaScript: Node's own zlib packs differently from release to release

const GREEN = [11, 107, 87];
const LIGHT = [244, 241, 234];
const SPOT = [214, 36, 159];
const DOTS = [[-0.34, -0.1], [-0.12, -0.34], [0.12, -0.1], [0.38, 0.1], [-0.2, 0.22], [0.1, 0.34], [0.34, -0.3]];
const FINE = 4; // samples a pixel, each way

/** The colour at (x, y) in [-1, 1]², with alpha. */
function colourAt(x, y) {
  const angle = Math.atan2(y, x);
  const away = Math.hypot(x, y);
  const edge = 0.82 + 0.1 * Math.cos(3 * angle + 0.7) + 0.05 * Math.cos(5 * angle);
  if (away > edge) return [0, 0, 0, 0];
  if (away > edge - 0.14) return [...GREEN, 255];
  const dot = DOTS.findIndex(([a, b]) => Math.hypot(x - a * 1.25, y - b * 1.25) < 0.13);
  if (dot === 2) return [...SPOT, 255];
  return dot >= 0 ? [...GREEN, 255] : [...LIGHT, 255];
}

/** CRC-32 as PNG has it. */
function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const size = Buffer.alloc(4);
  const check = Buffer.alloc(4);
  size.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([size, body, check]);
}

export function icon(size) {
  const rows = Buffer.alloc(size * (1 + 4 * size));
  for (let row = 0; row < size; row++) {
    for (let col = 0; col < size; col++) {
      const sum = [0, 0, 0, 0];
      for (let k = 0; k < FINE * FINE; k++) {
        const [x, y] = [col + ((k % FINE) + 0.5) / FINE, row + (Math.floor(k / FINE) + 0.5) / FINE].map((v) => (2 * v) / size - 1);
        const [r, g, b, alpha] = colourAt(x, y);
        [r * alpha, g * alpha, b * alpha, alpha].forEach((value, c) => (sum[c] += value));
      }
      const at = row * (1 + 4 * size) + 1 + 4 * col;
      for (let c = 0; c < 3; c++) rows[at + c] = sum[3] > 0 ? Math.round(sum[c] / sum[3]) : 0;
      rows[at + 3] = Math.round(sum[3] / FINE ** 2);
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 6, 0, 0, 0], 8); // eight bits, colours with alpha
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), chunk("IHDR", head), chunk("IDAT", zlibSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}
