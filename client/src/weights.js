// SPDX-License-Identifier: Apache-2.0
// Whole weights that fall by at most e^(exponent x 2^-13) a unit: w(D) = table[D mod N] x 2^-(D div N).

const TOP = 1n << 31n;

/** The table of an exponent numerator/denominator; metric/weights.py proves what it promises. */
export function makeWeights(numerator, denominator) {
  const a = BigInt(numerator);
  const b = BigInt(denominator) << 13n;
  const over = 2n * b * b;
  const under = 2n * b * b + 2n * a * b + a * a;
  const table = [];
  for (let value = TOP; value > TOP / 2n; value = (value * over + under - 1n) / under) table.push(Number(value));
  return Float64Array.from(table);
}
