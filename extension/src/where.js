// SPDX-License-Identifier: Apache-2.0
// The document that nobody sees, where the worker is none itself. It answers the worker alone.

import { api } from "./api.js";
import { DONE_HIDDEN } from "./hidden.js";

api.runtime.onMessage.addListener((message, { tab, url }, reply) => {
  if (tab || url !== api.runtime.getURL("worker.js") || !Object.hasOwn(DONE_HIDDEN, message.what)) return false;
  DONE_HIDDEN[message.what](message).then(reply, () => reply(null));
  return true; // the answer comes later
});
