// SPDX-License-Identifier: Apache-2.0
// What checks a map, by searches of its own: none of the sampler's. All of it is inside one function that needs nothing
// outside itself, so that its text can be handed to a worker.

/**
 * The kernels over one map. start, index: arcs by vertex; weight: their lengths in the metric; low: by which reports go;
 * table: mass units by level that a ball must hold; fall: w(D), the mechanism's own weights, for each D up to its last.
 */
export function makeChecker({ start, index, weight, low: lengthsNow, mass, measure, outside, table, fall, near }, lanes) {
  let low = lengthsNow;
  const LANES = 128;
  const ROW_SHIFT = 9; // a row has 2^9 bytes
  const ARC_WORDS = 2;
  const CORE = 2 * 8192;
  const FAR = 2 ** 29; // twice this is still a 32-bit number
  const n = start.length - 1;
  const best = new Int32Array(n).fill(FAR);
  const order = new Int32Array(n);
  const number = new Int32Array(n).fill(-1);
  const shelves = makeShelves(Math.max(longest(weight), longest(low)));
  const later = new Int32Array(2 * mostArcs());
  let found = 0;

  function longest(lengths) {
    let most = 0;
    for (let a = 0; a < lengths.length; a++) if (lengths[a] > most) most = lengths[a];
    return most;
  }

  function mostArcs() {
    let most = 0;
    for (let v = 0; v < n; v++) most = Math.max(most, start[v + 1] - start[v]);
    return most;
  }

  /** Lists of vertices by distance modulo a power of two above the longest arc: at any time all of them fit. */
  function makeShelves(most) {
    let size = 1;
    while (size <= most) size *= 2;
    return { mask: size - 1, first: new Int32Array(size).fill(-1), note: new Int32Array(index.length + n), below: new Int32Array(index.length + n) };
  }

  /** Settle all within `limit` of the sources, nearest first, into `order`; stop once `enough` mass is inside. Returns that mass. */
  function settle(sources, lengths, limit, enough) {
    const { mask, first, note, below } = shelves;
    let notes = 0;
    let waiting = 0;
    let inside = 0;
    found = 0;
    for (const source of sources) {
      if (best[source] === 0) continue;
      best[source] = 0;
      note[notes] = source;
      below[notes] = first[0];
      first[0] = notes++;
      waiting++;
    }
    let d = 0;
    while (waiting > 0 && d <= limit) {
      const top = first[d & mask];
      if (top < 0) {
        if (inside >= enough) break;
        d++;
        continue;
      }
      first[d & mask] = below[top];
      waiting--;
      const v = note[top];
      if (best[v] !== d) continue; // it was found nearer since
      order[found++] = v;
      inside += mass[v];
      for (let a = start[v]; a < start[v + 1]; a++) {
        const u = index[a];
        const through = d + lengths[a];
        if (through < best[u] && through <= limit) {
          best[u] = through;
          note[notes] = u;
          below[notes] = first[through & mask];
          first[through & mask] = notes++;
          waiting++;
        }
      }
    }
    if (waiting > 0) first.fill(-1);
    shelves.notes = notes;
    return inside;
  }

  function forget() {
    for (let k = 0; k < shelves.notes; k++) {
      best[shelves.note[k]] = FAR;
      number[shelves.note[k]] = -1;
    }
  }

  /** Whether the ball of a source holds what the table asks for at every jump, and the least ratio of the two. */
  function checkBall(source) {
    const top = table.length - 1;
    settle([source], weight, top, table[top]);
    let inside = 0;
    let at = 0;
    let least = Infinity;
    let holds = true;
    const look = (d) => {
      if (!(table[d] > 0)) return;
      if (inside < table[d]) holds = false;
      if (inside / table[d] < least) least = inside / table[d];
    };
    for (let k = 0; k < found; k++) {
      const d = best[order[k]];
      if (d > at) {
        look(d - 1);
        at = d;
      }
      inside += mass[order[k]];
    }
    look(top);
    forget();
    return { holds, least };
  }

  /** checkBall at each of the sources: how many fall short, and the least ratio. */
  function balls(sources) {
    let short = 0;
    let least = Infinity;
    for (const source of sources) {
      const checked = checkBall(source);
      if (!checked.holds) short++;
      least = Math.min(least, checked.least);
    }
    return { short, least };
  }

  /**
   * Of S(x) = sum of measure(z) w(d'(x, z)) at up to LANES neighbouring sources: `inner`, the sum of measure (w(d') - w(near))
   * over all within `near`; and a bound `beyond` on the rest, the sum of measure w(max(d', near)), from the distances of the
   * group as a whole, which are no larger than those of any of its sources.
   */
  function totals(sources) {
    const group = Array.from({ length: LANES }, (_, lane) => sources[Math.min(lane, sources.length - 1)]);
    settle(group, low, fall.length - 1, Infinity);
    const region = countWithin(near);
    const beyond = boundBeyond(region);
    const inner = sumRows(distances(group, region), region);
    forget();
    return { inner: inner.slice(0, sources.length), beyond: new Float64Array(sources.length).fill(beyond) };
  }

  function sumRows(words, region) {
    const inner = new Float64Array(LANES);
    const last = fall[near];
    for (let k = 0; k < region; k++) {
      const share = measure[order[k]];
      if (share === 0) continue;
      for (let lane = 0, at = k * LANES; lane < LANES; lane++, at++) {
        const d = words[at];
        if (d < near) inner[lane] += share * (fall[d] - last);
      }
    }
    return inner;
  }

  /** How many of the vertices that were found lie within a distance of the group. */
  function countWithin(distance) {
    let count = 0;
    while (count < found && best[order[count]] <= distance) count++;
    return count;
  }

  function boundBeyond(region) {
    const last = fall.length - 1;
    let rest = outside;
    let bound = 0;
    for (let k = 0; k < found; k++) {
      const v = order[k];
      rest -= measure[v];
      bound += measure[v] * fall[k < region ? near : best[v]];
    }
    return bound + rest * fall[last];
  }

  /** A row of distances for each vertex of the region, a lane a source: pulled forwards and backwards in turn (Yen 1970). */
  function distances(group, region) {
    for (let k = 0; k < region; k++) number[order[k]] = k;
    const { first, middle } = arcsWithin(region);
    const { words, pull } = lanes;
    words.fill(FAR, 0, region * LANES);
    const fromBelow = new Uint8Array(region);
    const fromAbove = new Uint8Array(region);
    const spread = (k) => {
      for (let a = first[k] >> 2; a < middle[k] >> 2; a += ARC_WORDS) fromAbove[words[a] >> ROW_SHIFT] = 1;
      for (let a = middle[k] >> 2; a < first[k + 1] >> 2; a += ARC_WORDS) fromBelow[words[a] >> ROW_SHIFT] = 1;
    };
    group.forEach((source, lane) => {
      words[number[source] * LANES + lane] = 0;
      spread(number[source]);
    });
    // sources reach each other on winding ways: what lies around them is finished first, and the rest need not wait for it
    for (const end of [countWithin(Math.min(CORE, near)), region]) {
      for (let changed = true; changed; ) {
        changed = false;
        for (let k = 0; k < end; k++) {
          if (fromBelow[k] === 0) continue;
          fromBelow[k] = 0;
          if (pull(k << ROW_SHIFT, first[k], middle[k]) === 0) continue;
          changed = true;
          spread(k);
        }
        for (let k = end - 1; k >= 0; k--) {
          if (fromAbove[k] === 0) continue;
          fromAbove[k] = 0;
          if (pull(k << ROW_SHIFT, middle[k], first[k + 1]) === 0) continue;
          changed = true;
          spread(k);
        }
      }
    }
    return words;
  }

  /** Arcs between vertices of the region, in the lanes' memory behind the rows: those to lower numbers (up to `middle`), then the others. */
  function arcsWithin(region) {
    let most = 0;
    for (let k = 0; k < region; k++) most += start[order[k] + 1] - start[order[k]];
    lanes.reserve(4 * (region * LANES + most * ARC_WORDS));
    const { words } = lanes;
    const first = new Int32Array(region + 1);
    const middle = new Int32Array(region);
    let used = region * LANES;
    first[0] = 4 * used;
    for (let k = 0; k < region; k++) {
      const v = order[k];
      let above = 0;
      for (let a = start[v]; a < start[v + 1]; a++) {
        const u = number[index[a]];
        if (u < 0 || low[a] > near) continue;
        if (u > k) {
          later[above++] = u;
          later[above++] = low[a];
          continue;
        }
        words[used++] = u << ROW_SHIFT;
        words[used++] = low[a];
      }
      middle[k] = 4 * used;
      for (let j = 0; j < above; j += 2) {
        words[used++] = later[j] << ROW_SHIFT;
        words[used++] = later[j + 1];
      }
      first[k + 1] = 4 * used;
    }
    return { first, middle };
  }

  /** S at each source, by a search of all that it can reach. */
  function whole(sources, weights) {
    const period = weights.length;
    return Float64Array.from(sources, (source) => {
      settle([source], low, FAR - 1, Infinity);
      let sum = 0;
      for (let k = 0; k < found; k++) {
        const d = best[order[k]];
        const shell = Math.floor(d / period);
        sum += measure[order[k]] * weights[d - shell * period] * 2 ** -shell;
      }
      forget();
      return sum;
    });
  }

  /** From now on reports go by these lengths, none of them above the metric's. */
  function lower(lengths) {
    low = lengths;
  }

  return { balls, totals, whole, lower };
}
