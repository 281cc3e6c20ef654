// SPDX-License-Identifier: Apache-2.0
// The checker in a worker of its own: extensions may not make one of a text, as pages do (client/src/workers.js).

import { makeChecker } from "../../client/src/checker.js";
import { makeLanes } from "../../client/src/lanes.js";

let checker;
globalThis.onmessage = ({ data: { map, kind, given } }) => {
  if (map) checker = makeChecker(map, makeLanes());
  globalThis.postMessage(kind ? checker[kind](...given) : null);
};
