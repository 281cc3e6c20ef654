// SPDX-License-Identifier: Apache-2.0
export { deflateRawSync, deflateSync } from "node:zlib";

/** CRC-32 as zip and PNG have it. */
export function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
