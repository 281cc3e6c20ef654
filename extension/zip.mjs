// SPDX-License-Identifier: Apache-2.0
// A zip of a folder with names in order and no times, so that the same files give the same bytes (APPNOTE 6.3.3, sections 4.3.7 to 4.3.16).

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32, deflateRawSync } from "./bytes.mjs";

/** 1 January 1980, midnight: the first moment there is. */
const DATE = 0x0021;
const VERSION = 20;
const DEFLATED = 8;
const UTF8 = 0x0800;

export async function zip(folder) {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1)).sort();
  const bodies = [];
  const entries = [];
  let at = 0;
  for (const name of names) {
    const content = await readFile(join(folder, name));
    const packed = deflateRawSync(content, { level: 9 });
    const named = Buffer.from(name, "utf8");
    const about = Buffer.alloc(26);
    [VERSION, UTF8, DEFLATED, 0, DATE].forEach((value, k) => about.writeUInt16LE(value, 2 * k));
    about.writeUInt32LE(crc32(content), 10);
    about.writeUInt32LE(packed.length, 14);
    about.writeUInt32LE(content.length, 18);
    about.writeUInt16LE(named.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), about, named, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    entries.push(Buffer.concat([Buffer.from("PK\x01\x02", "latin1"), Buffer.from([VERSION, 0]), about, rest, named]));
    bodies.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(names.length, 8);
  end.writeUInt16LE(names.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...bodies, directory, end]);
}
