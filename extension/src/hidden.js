// SPDX-License-Identifier: Apache-2.0
// What takes a document, and is done in one that nobody sees (device.js): ask the device by the extension's own permission, and check newer
// maps with workers.

import { api } from "./api.js";
import { allFiles } from "./maps.js";
import { isDue, updateMaps } from "./packs.js";
import { exact } from "./position.js";

const spawn = () => new Worker(api.runtime.getURL("checker-worker.js"));

export const DONE_HIDDEN = {
  where: async ({ options }) => {
    // never by a question of the browser's: nobody would see it
    if ((await navigator.permissions.query({ name: "geolocation" })).state !== "granted") return null;
    return new Promise((resolve) => {
      navigator.geolocation.getCurrentPosition((position) => resolve({ position: exact(position) }), () => resolve(null), options);
    });
  },
  update: async ({ fences }) => updateMaps((await allFiles()).filter((file) => isDue(file)), fences, { spawn }),
};
