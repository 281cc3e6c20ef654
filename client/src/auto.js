// SPDX-License-Identifier: Apache-2.0
// One line in a page: <script src="geolocation.js" data-metric="region.geox"></script>, before any other script.

import { installGeolocation } from "./geolocation.js";

const script = globalThis.document?.currentScript;
if (script) {
  const pauseMs = Number(script.dataset.pauseMs) || undefined;
  // without data-metric this refuses every position: closed, not open
  installGeolocation({ metric: script.dataset.metric ?? "", pauseMs }).catch(() => undefined);
}
