// SPDX-License-Identifier: Apache-2.0
import { carveFence, Elastic, GeoelasticError, installGeolocation, Metric, Sticky, verify } from "../src/index.js";
import type { LatLon, Verified } from "../src/index.js";

const bytes = new Uint8Array(0);
const mechanism: Elastic = await Elastic.fromBytes(bytes);
const { lat, lon }: { lat: number; lon: number } = mechanism.report(48.8567, 2.3487);
const ring: LatLon[] = [[48.85, 2.34], [48.85, 2.35], [48.86, 2.35]];
const carved: Metric = carveFence(mechanism.metric, ring).metric;
const sticky = new Sticky(new Elastic(carved), Sticky.newKey(), "user");
await sticky.report(lat, lon);
const { ok, claim }: Verified = await verify(bytes, { progress: (part) => part.toFixed(2), signal: new AbortController().signal });
if (!ok) throw new GeoelasticError("file", claim);
await installGeolocation({ metric: "region.geox", checked: true });
// @ts-expect-error a place is two numbers
mechanism.report("48.8567, 2.3487");
