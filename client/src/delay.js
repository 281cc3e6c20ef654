// SPDX-License-Identifier: Apache-2.0
// Answers at a fixed delay: a search takes longer in some places than in others, and nobody may see that.

/** The clock of a page. */
export const PAGE_CLOCK = { now: () => performance.now(), sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) };

/** What a promise gives, or its refusal, a whole number of `delayMs` (at least one) after `begun`. */
export async function atFixedDelay(answer, delayMs, clock = PAGE_CLOCK, begun = clock.now()) {
  const settled = await answer.then((value) => () => value, (error) => () => { throw error; });
  const passed = clock.now() - begun;
  await clock.sleep(delayMs * Math.max(1, Math.ceil(passed / delayMs)) - passed);
  return settled();
}
