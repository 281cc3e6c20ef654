// SPDX-License-Identifier: Apache-2.0
// Long work in the background: several workers where there are any, else in small pieces between other things.

import { makeChecker } from "./checker.js";
import { GeoelasticError } from "./errors.js";
import { makeLanes } from "./lanes.js";

const MOST_WORKERS = 8;

/** What runs in a worker: the checker's own text, and nothing else of the page. */
function workerText() {
  return `${makeLanes}\n${makeChecker}\nlet checker;
onmessage = ({ data: { map, kind, given } }) => {
  if (map) checker = ${makeChecker.name}(map, ${makeLanes.name}());
  postMessage(kind ? checker[kind](...given) : null);
};`;
}

function spawnWorker() {
  const address = URL.createObjectURL(new Blob([workerText()], { type: "text/javascript" }));
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  return worker;
}

/** A worker that has the map, or an error if the page may not have workers. */
function begun(spawn, map) {
  return new Promise((resolve, reject) => {
    const worker = spawn(workerText());
    worker.onmessage = () => resolve(worker);
    worker.onerror = (event) => {
      event.preventDefault?.();
      worker.terminate();
      reject(new GeoelasticError("worker", "no worker can be started"));
    };
    worker.postMessage({ map });
  });
}

/** Workers that have the map, each as a function from a task to the promise of its result; `end` stops them. */
export class Crew {
  static async over(map, { workers, spawn }) {
    const able = spawn ?? (typeof Worker === "function" && typeof URL.createObjectURL === "function" ? spawnWorker : null);
    const wanted = Math.min(workers ?? globalThis.navigator?.hardwareConcurrency ?? 1, MOST_WORKERS);
    if (able && wanted > 0) {
      try {
        const first = await begun(able, map);
        const others = await Promise.all(Array.from({ length: wanted - 1 }, () => begun(able, map)));
        return new Crew([first, ...others]);
      } catch {
        // a page whose policy forbids them still gets its answer, only later
      }
    }
    return new Crew([], makeChecker(map, makeLanes()));
  }

  constructor(workers, own) {
    this.workers = workers;
    this.own = own;
  }

  /** All tasks, each {kind, given, size}; results in their order. `done` is told the size of each one that is finished. */
  async all(tasks, { done, signal }) {
    const results = new Array(tasks.length);
    let next = 0;
    const work = async (run) => {
      while (next < tasks.length) {
        if (signal?.aborted) throw new GeoelasticError("stopped", "the check was stopped");
        const k = next++;
        results[k] = await run(tasks[k]);
        done(tasks[k].size);
      }
    };
    await Promise.all(this.#hands().map(work));
    return results;
  }

  /** The same task for every worker. */
  async each(kind, ...given) {
    await Promise.all(this.#hands().map((run) => run({ kind, given })));
  }

  #hands() {
    if (this.workers.length === 0) {
      return [async ({ kind, given }) => {
        await new Promise((resolve) => setTimeout(resolve));
        return this.own[kind](...given);
      }];
    }
    return this.workers.map((worker) => ({ kind, given }) => new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault?.();
        reject(new GeoelasticError("worker", "a worker stopped before it was done"));
      };
      worker.postMessage({ kind, given });
    }));
  }

  end() {
    for (const worker of this.workers) worker.terminate();
  }
}
