// SPDX-License-Identifier: Apache-2.0
// node test/catalogues.mjs FILE...: those of the files that are catalogues, as JSON.

import { readFileSync } from "node:fs";
import { parseCatalogue } from "../src/catalogue.js";

function isCatalogue(name) {
  try {
    parseCatalogue(new Uint8Array(readFileSync(name)));
    return true;
  } catch (error) {
    if (error.code !== "file") throw error;
    return false;
  }
}

process.stdout.write(JSON.stringify(process.argv.slice(2).filter(isCatalogue)));
