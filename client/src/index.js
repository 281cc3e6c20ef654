// SPDX-License-Identifier: Apache-2.0
export { carveFence } from "./carve.js";
export { GeoelasticError } from "./errors.js";
export { readPortable } from "./format.js";
export { installGeolocation } from "./geolocation.js";
export { Elastic } from "./mechanism.js";
export { LEVEL_UNITS, MASS_UNITS, Metric } from "./metric.js";
export { README } from "./policy.js";
export { Projection } from "./projection.js";
export { ReplayRandom, SystemRandom, uniformBelow } from "./random.js";
export { leastRatio, requirementTable, requiredMass } from "./requirement.js";
export { sharpen } from "./sharpen.js";
export { Sticky } from "./sticky.js";
export { Habit, LiveTrace, TraceMechanism } from "./trace.js";
export { verify } from "./verify.js";
export { Watch } from "./watch.js";
