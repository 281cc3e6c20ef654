// SPDX-License-Identifier: Apache-2.0
// Graphs with whole weights and shortest paths in them.

export const UNREACHABLE = 2 ** 31 - 1;

/** The rise of an edge that keeps its conformal weight. */
export const RISE_ONE = 128;

/**
 * weight(i, j) = floor(length x (scale_i + scale_j) / 2^17), exact in doubles: the product is below 2^53 wherever the weight
 * is one that a file may have (schema.js); what is more is capped, so that it is refused instead of wrapped.
 */
export function conformalGraph({ start, index, length }, scale) {
  const weight = new Int32Array(index.length);
  for (let i = 0; i + 1 < start.length; i++) {
    for (let a = start[i]; a < start[i + 1]; a++) {
      weight[a] = Math.min(UNREACHABLE, Math.floor((length[a] * (scale[i] + scale[index[a]])) / 131072));
    }
  }
  return { start, index, weight };
}

/** Neighbours i < j in the order of the rows: [i, j, arc from i, arc from j]. Rows are in increasing order. */
export function* pairs({ start, index }) {
  const met = start.slice(0, -1);
  for (let i = 0; i + 1 < start.length; i++) {
    for (let a = met[i]; a < start[i + 1]; a++) yield [i, index[a], a, met[index[a]]++];
  }
}

/** The graph with floor(rise x weight / 2^7) for weights, `rise` being one per pair; a rise of 0 is no edge. */
export function raisedGraph({ start, index, weight }, rise) {
  if (rise === undefined) return { start, index, weight };
  const factor = new Uint8Array(index.length);
  let pair = 0;
  for (const [, , there, back] of pairs({ start, index })) factor[there] = factor[back] = rise[pair++];
  const kept = factor.reduce((sum, value) => sum + (value > 0 ? 1 : 0), 0);
  const raised = { start: new Int32Array(start.length), index: new Int32Array(kept), weight: new Int32Array(kept) };
  let used = 0;
  for (let i = 0; i + 1 < start.length; i++) {
    for (let a = start[i]; a < start[i + 1]; a++) {
      if (factor[a] === 0) continue;
      raised.index[used] = index[a];
      raised.weight[used++] = Math.floor((weight[a] * factor[a]) / RISE_ONE);
    }
    raised.start[i + 1] = used;
  }
  return raised;
}

/** weight - floor(weight / 2^slack) - 4 - |difference of heights|, at least 0: the graph that sharpened reports go by. */
export function loweredGraph({ start, index, weight: full }, height, slack) {
  const weight = new Int32Array(index.length);
  for (let i = 0; i + 1 < start.length; i++) {
    for (let a = start[i]; a < start[i + 1]; a++) {
      weight[a] = Math.max(0, full[a] - (full[a] >> slack) - 4 - Math.abs(height[i] - height[index[a]]));
    }
  }
  return { start, index, weight };
}

/** The graph of an edge list, each undirected edge once. */
export function edgeGraph(n, tail, tip, level) {
  const start = new Int32Array(n + 1);
  for (let e = 0; e < tail.length; e++) {
    start[tail[e] + 1]++;
    start[tip[e] + 1]++;
  }
  for (let i = 0; i < n; i++) start[i + 1] += start[i];
  const next = start.slice(0, n);
  const index = new Int32Array(2 * tail.length);
  const weight = new Int32Array(2 * tail.length);
  for (let e = 0; e < tail.length; e++) {
    for (const [a, b] of [[tail[e], tip[e]], [tip[e], tail[e]]]) {
      index[next[a]] = b;
      weight[next[a]++] = level[e];
    }
  }
  return { start, index, weight };
}

/** The number of the connected part of each vertex. */
export function components({ start, index }) {
  const part = new Int32Array(start.length - 1).fill(-1);
  const stack = [];
  let count = 0;
  for (let s = 0; s < part.length; s++) {
    if (part[s] >= 0) continue;
    part[s] = count;
    stack.push(s);
    while (stack.length > 0) {
      const v = stack.pop();
      for (let a = start[v]; a < start[v + 1]; a++) {
        if (part[index[a]] < 0) {
          part[index[a]] = count;
          stack.push(index[a]);
        }
      }
    }
    count++;
  }
  return part;
}

/** A search that settles vertices in order of distance and can be continued (buckets by distance, Dial 1969). */
export class Search {
  constructor(graph) {
    this.graph = graph;
    const n = graph.start.length - 1;
    let most = 0;
    for (let a = 0; a < graph.weight.length; a++) if (graph.weight[a] > most) most = graph.weight[a];
    let buckets = 1;
    while (buckets <= most) buckets *= 2;
    this.dist = new Int32Array(n).fill(UNREACHABLE);
    this.head = new Int32Array(buckets).fill(-1);
    this.entryVertex = new Int32Array(graph.index.length + n + 1);
    this.entryNext = new Int32Array(graph.index.length + n + 1);
    this.order = new Int32Array(n);
    this.used = 0;
    this.live = 0;
    this.settled = 0;
    this.distance = 0;
  }

  begin(sources) {
    this.clear();
    for (const source of sources) this.#queue(source, 0);
  }

  #queue(vertex, distance) {
    const slot = distance & (this.head.length - 1);
    this.dist[vertex] = distance;
    this.entryVertex[this.used] = vertex;
    this.entryNext[this.used] = this.head[slot];
    this.head[slot] = this.used++;
    this.live++;
  }

  /** Settle every vertex within `limit`; what lies beyond `horizon` is never queued. True if anything is left. */
  expand(limit, horizon = UNREACHABLE - 1) {
    const { start, index, weight } = this.graph;
    const { dist, head, order, entryVertex, entryNext } = this;
    let { distance, live, used, settled } = this;
    const mask = head.length - 1;
    while (live > 0 && distance <= limit) {
      const entry = head[distance & mask];
      if (entry < 0) {
        distance++;
        continue;
      }
      head[distance & mask] = entryNext[entry];
      live--;
      const v = entryVertex[entry];
      if (dist[v] !== distance) continue;
      order[settled++] = v;
      for (let a = start[v]; a < start[v + 1]; a++) {
        const u = index[a];
        const through = distance + weight[a];
        if (through < dist[u] && through <= horizon) {
          dist[u] = through;
          entryVertex[used] = u;
          entryNext[used] = head[through & mask];
          head[through & mask] = used++;
          live++;
        }
      }
    }
    Object.assign(this, { distance, live, used, settled });
    return live > 0;
  }

  clear() {
    if (this.live > 0) this.head.fill(-1);
    for (let e = 0; e < this.used; e++) this.dist[this.entryVertex[e]] = UNREACHABLE;
    this.used = this.live = this.settled = this.distance = 0;
  }
}
