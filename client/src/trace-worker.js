// SPDX-License-Identifier: Apache-2.0
// A worker that releases traces: {bytes, options} once, then {places, past} for each; answers {location, cells, habit} or {error}.

import { Elastic } from "./mechanism.js";
import { Habit, TraceMechanism } from "./trace.js";

let traces;
self.onmessage = async ({ data: { bytes, options, places, past } }) => {
  try {
    if (bytes) traces = new TraceMechanism(await Elastic.fromBytes(bytes), options);
    if (!places) return self.postMessage({ ready: true });
    const { location, cells, habit } = traces.release(places, past ? Habit.fromJSON(past) : new Habit());
    return self.postMessage({ location, cells, habit: habit.toJSON() });
  } catch (error) {
    return self.postMessage({ error: { code: error.code, message: error.message } });
  }
};
