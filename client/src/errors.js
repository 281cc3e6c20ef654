// SPDX-License-Identifier: Apache-2.0
// One kind of error with a code. Messages never hold a place.

export class GeoelasticError extends Error {
  /** @param {"file"|"outside"|"frame"|"input"|"random"|"stopped"|"worker"} code */
  constructor(code, message) {
    super(message);
    this.name = "GeoelasticError";
    this.code = code;
  }
}
