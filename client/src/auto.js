// SPDX-License-Identifier: Apache-2.0
// One line in a page: <script src="geolocation.js" data-metric="region.geox"></script>, before any other script.
// data-verify: no position before this device has checked the map; data-pause-ms, data-delay-ms: see geolocation.js.

import { installGeolocation } from "./geolocation.js";

const script = globalThis.document?.currentScript;
if (script) {
  const { metric = "", pauseMs, delayMs, verify: asked } = script.dataset;
  const number = (text) => Number(text) || undefined;
  const checked = asked !== undefined && asked !== "no";
  // without data-metric this refuses every position: closed, not open
  installGeolocation({ metric, pauseMs: number(pauseMs), delayMs: number(delayMs), checked }).catch(() => undefined);
}
