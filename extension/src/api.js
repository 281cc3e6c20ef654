// SPDX-License-Identifier: Apache-2.0
/** The browser's own interface for extensions, under either of its names; both give promises. */
export const api = globalThis.browser ?? globalThis.chrome;
