// SPDX-License-Identifier: Apache-2.0
// A document that nobody sees, for what the worker cannot do itself (device.js): ask the device by the extension's own permission, and check
// newer maps with workers. It answers the worker alone.

import { api } from "./api.js";
import { allFiles } from "./maps.js";
import { isDue, updateMaps } from "./packs.js";
import { exact } from "./position.js";

const spawn = () => new Worker(api.runtime.getURL("checker-worker.js"));

api.runtime.onMessage.addListener(({ what, options, fences }, { tab, url }, reply) => {
  if (tab || url !== api.runtime.getURL("worker.js")) return false;
  if (what === "where") navigator.geolocation.getCurrentPosition((position) => reply({ position: exact(position) }), ({ code }) => reply({ code }), options);
  else if (what === "update") allFiles().then((files) => updateMaps(files.filter((file) => isDue(file)), fences, { spawn })).then(reply, () => reply([]));
  else return false;
  return true; // the answer comes later
});
