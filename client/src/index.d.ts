// SPDX-License-Identifier: Apache-2.0
// Types of the client. Coordinates are degrees, [lat, lon] everywhere.

/** [lat, lon] in degrees. */
export type LatLon = readonly [lat: number, lon: number];

/** Units of a level and of a mass: both are whole numbers of these in files and searches. */
export const LEVEL_UNITS: number;
export const MASS_UNITS: number;

export type ErrorCode = "file" | "outside" | "frame" | "input" | "random" | "stopped" | "worker";

/** The one kind of error. Its message never holds a place. */
export class GeoelasticError extends Error {
  constructor(code: ErrorCode, message: string);
  readonly code: ErrorCode;
}

/** Where random bytes come from. */
export interface RandomSource {
  bytes(n: number): Uint8Array;
}

/** The browser's cryptographic source; the default everywhere. */
export class SystemRandom implements RandomSource {
  bytes(n: number): Uint8Array;
}

/** Given bytes, once: for test vectors. */
export class ReplayRandom implements RandomSource {
  constructor(data: Uint8Array);
  bytes(n: number): Uint8Array;
}

/** A whole number in [0, n), exactly as Python makes it of the same bytes. */
export function uniformBelow(source: RandomSource, n: bigint): bigint;

export type Requirement =
  | { kind: "quadratic" | "linear"; l_star: number }
  | { kind: "step"; level: number; mass: number }
  | { kind: "custom"; name: string; levels: number[]; masses: number[] };

/** The header of a `.geox` file (docs/format.md). What `certificate` and `info` state is not believed. */
export interface Header {
  grid: { lat: number; lon: number; width_m: number; height_m: number; cell_m: number; rows: number; cols: number; east_m: number; north_m: number };
  layout: "uniform" | "adaptive";
  method: "conformal" | "paper";
  requirement: Requirement;
  l_from: number;
  l_top: number;
  frame_cells: number;
  exponent: [1, 1 | 2];
  output: string;
  sticky: string;
  certificate: Record<string, unknown>;
  info: Record<string, unknown>;
}

/** Header and arrays of a file, once all of it has passed the schema. */
export function readPortable(bytes: Uint8Array): Promise<{ head: Header; arrays: Record<string, Float64Array> }>;

export class Projection {
  constructor(lat: number, lon: number, eastM?: number, northM?: number);
  toXY(lat: number, lon: number): [x: number, y: number];
  toLatLon(x: number, y: number): [lat: number, lon: number];
}

export interface Ball {
  members: number[];
  /** In units of a city's crowd. */
  mass: number;
  cells: number;
  areaKm2: number;
}

/** A metric on the device: where a place is, how far others are, what a ball holds. Locations are whole numbers below `n`. */
/** What `Metric.ready` gives: plain data, to be kept and given to the constructor again. */
export interface ReadyMetric {
  readonly head: Header;
  readonly [part: string]: unknown;
}

export class Metric {
  /** A map that was opened before opens at once; nothing is checked again, so keep it where nobody else can write. */
  constructor(ready: ReadyMetric);
  ready(): ReadyMetric;
  static fromBytes(bytes: Uint8Array | ArrayBuffer): Promise<Metric>;
  /** Nothing is sent with the request. */
  static fetch(url: string | URL): Promise<Metric>;
  readonly head: Header;
  readonly n: number;
  readonly rows: number;
  readonly cols: number;
  readonly cellM: number;
  readonly lTop: number;
  /** In units of 2^-32. */
  readonly mass: Float64Array;
  readonly measure: Float64Array;
  /** 0 outside fences, k inside fence k. */
  readonly fence: Int32Array;
  /** Of a sharpened map. */
  readonly height?: Float64Array;
  /** Of a sharpened map: a 2^slack-th of each edge is given up for what heights are not exact. */
  readonly slack: number;
  /** Of a map that was sharpened before a fence was carved into it: where `sharpen` begins. */
  readonly heightBefore?: Float64Array;
  /** Of a map that a fence was carved into: the locations around which lengths changed. */
  readonly touched?: Int32Array;
  readonly projection: Projection;
  isSecret(i: number): boolean;
  cellOf(lat: number, lon: number): [row: number, col: number] | null;
  locate(lat: number, lon: number): number;
  locateSecret(lat: number, lon: number): number;
  xy(i: number): [x: number, y: number];
  cellToLatLon(row: number, col: number): [lat: number, lon: number];
  outline(i: number): [lat: number, lon: number][];
  distanceUnits(i: number, limit?: number): Int32Array;
  ball(i: number, level: number): Ball;
}

export interface Report {
  lat: number;
  lon: number;
  location: number;
  row: number;
  col: number;
}

/** The elastic mechanism. */
export class Elastic {
  /** From the bytes of a `.geox` file, wherever they come from: a request, a cache, a file that the user chose. */
  static fromBytes(bytes: Uint8Array | ArrayBuffer): Promise<Elastic>;
  static fetch(url: string | URL): Promise<Elastic>;
  constructor(metric: Metric);
  readonly metric: Metric;
  /** A report for a place; throws where the place cannot be hidden ("outside", "frame"). */
  report(lat: number, lon: number, random?: RandomSource): Report;
  reportFrom(i: number, random?: RandomSource): Report;
  reportsFrom(i: number, count: number, random?: RandomSource): Report[];
  sample(i: number, random?: RandomSource): number;
  probabilities(i: number): Float64Array;
  spread(i: number): { meanM: number; radius95M: number };
}

/** The same place gives the same report again, under a secret key. */
export class Sticky {
  static newKey(): Uint8Array;
  constructor(mechanism: Elastic, key: Uint8Array, user?: string);
  report(lat: number, lon: number): Promise<Report>;
  reportFrom(i: number): Promise<Report>;
}

/**
 * The metric with a fence carved in, repaired around it and checked again.
 * ring: corners as [lat, lon], in order along the fence in either direction, closed or not (a last corner that repeats the first
 * changes nothing); a cell belongs to the fence if its centre lies inside. The metric that is given stays as it is. Heights do
 * not carry over: reports of the result go by half of each distance.
 */
export function carveFence(metric: Metric, ring: readonly LatLon[]): { metric: Metric; cells: number; checked: number; changed: number };

/** What a map states. */
export interface Facts {
  locations: number;
  secrets: number;
  fenced: number;
  fences: number;
  share_of_locations: number;
  share_of_area: number;
  share_of_mass: number;
  requirement: Requirement;
  l_from: number;
  l_top: number;
  mass: number;
  mass_per_km2: number;
  unit_m: number | null;
  spread_m: number;
  output: string;
  sharpened: boolean;
}

/** What a check found. */
export interface Verified {
  /** All that is stated holds, and it is at least what was required. */
  ok: boolean;
  /** One paragraph in plain words: whether it holds, for whom, and what is not covered. */
  claim: string;
  facts: Facts;
  /** What does not hold. */
  faults: string[];
  /** In what it is less than the policy. */
  short: string[];
  least_ratio: number | null;
  edges: number;
  worst_edge: number;
}

/** The least that a map must state. */
export interface Policy {
  requirement: Requirement;
  l_from: number;
  l_top: number;
  secrets: number;
  share_of_mass: number;
  unit_m: number;
  mass_per_km2: number;
}

/** What the README promises. */
export const README: Policy;

/** Where results are remembered by the digest of a file's bytes. */
export interface VerifiedStore {
  get(key: string): Verified | undefined | Promise<Verified | undefined>;
  set(key: string, result: Verified): unknown;
}

export interface VerifyOptions {
  /** Default: README. null: it is enough if the map holds what it states itself. */
  require?: Policy | null;
  /** Told how far the check is, from 0 to 1. */
  progress?: (part: number) => void;
  signal?: AbortSignal;
  /** How many workers (default: the device's cores, at most 8). */
  workers?: number;
  store?: VerifiedStore;
  /** Makes a worker of a script's text, for places where one cannot be made of a Blob. */
  spawn?: (text: string) => Pick<Worker, "postMessage" | "terminate" | "onmessage" | "onerror">;
}

/** Check a map on this device, from its bytes alone: every secret at every level, every edge. */
export function verify(given: Uint8Array | ArrayBuffer | Elastic, options?: VerifyOptions): Promise<Verified>;

/** What was released before, by location. */
export class Habit {
  constructor(seconds?: Map<number, number>, last?: number | null);
  seconds: Map<number, number>;
  last: number | null;
  after(released: Iterable<number>, secondsEach: number): Habit;
  toJSON(): { seconds: [number, number][]; last: number | null };
  static fromJSON(kept: { seconds: [number, number][]; last: number | null }): Habit;
}

export interface TraceOptions {
  /** Cost of an hour, [numerator, denominator]; default [1, 2]. */
  rate?: [number, number];
  stepSeconds?: number;
  movesPerDay?: number;
  habit?: number;
  blockHours?: number;
  onLast?: number;
}

/** A whole trace by one draw with one guarantee. */
export class TraceMechanism {
  constructor(elastic: Elastic | Metric, options?: TraceOptions);
  /** One true location a step in, one released location and cell a step out. */
  release(places: number[], past?: Habit, random?: RandomSource): { location: number[]; cells: [number, number][]; habit: Habit };
}

/** One report a tick of a public clock. */
export class LiveTrace {
  constructor(elastic: Elastic | Metric, options?: { rate?: [number, number]; tickSeconds?: number; habit?: number; past?: Habit });
  habit: Habit;
  tickSeconds: number;
  report(location: number, timeS?: number, random?: RandomSource): Report;
  state(): { tick: number | null; report: Report | null; habit: ReturnType<Habit["toJSON"]> };
  resume(state: ReturnType<LiveTrace["state"]>): void;
}

export interface WatchOptions {
  /** Live ticks (default), or a trace that is shown `blockHours` later. */
  mode?: "ticks" | "trace";
  rate?: [number, number];
  tickSeconds?: number;
  stepSeconds?: number;
  blockHours?: number;
  /** Where habit and costs are kept; default: the browser's own storage. */
  store?: { get(key: string): string | null; set(key: string, value: string): unknown };
  user?: string;
}

/** What a page that watches gets to see. */
export class Watch {
  constructor(mechanism: Elastic, options?: WatchOptions);
  see(lat?: number, lon?: number, timeS?: number, random?: RandomSource): (Report & { timeS?: number }) | null;
  spent(level?: number, hours?: number, timeS?: number): number;
}

/**
 * A mechanism over the same map that is sharpened, certified on every edge. begin: heights to begin with (default: those that
 * `carveFence` left with the metric). Rejects if the heights do not settle ("input") or it was stopped ("stopped").
 */
export function sharpen(
  mechanism: Elastic, options?: Pick<VerifyOptions, "progress" | "signal" | "workers" | "spawn"> & { begin?: ArrayLike<number> },
): Promise<Elastic>;

export interface GeolocationOptions {
  /** The address of a `.geox` file, or a mechanism. */
  metric: string | Elastic;
  /** 32 secret bytes: the same reports on every visit. */
  key?: Uint8Array;
  user?: string;
  /** Between the reports of a watch; default 60,000. */
  pauseMs?: number;
  /** From the device's answer to the page's; default 1,000. */
  delayMs?: number;
  /** What a watch shows. */
  watch?: WatchOptions;
  /** No position before this device has verified the map. */
  checked?: boolean | VerifyOptions;
  clock?: { now(): number; sleep(ms: number): Promise<unknown> };
  navigator?: Navigator;
}

/** Replace navigator.geolocation, at once. Resolves when positions can be given; rejects if they never will be. */
export function installGeolocation(options: GeolocationOptions): Promise<void>;

/** What must lie within each level, and whether it does. */
export function requiredMass(requirement: Requirement, level: number): number;
export function requirementTable(head: Pick<Header, "requirement" | "l_from" | "l_top">): Float64Array;
export function leastRatio(
  search: { settled: number; order: Int32Array; dist: Int32Array }, mass: Float64Array, table: Float64Array,
): { least: number; level: number };
