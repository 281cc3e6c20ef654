// SPDX-License-Identifier: Apache-2.0
// The decoder: what is not in the schema is refused before anything is computed from it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { Elastic, GeoelasticError } from "../src/index.js";
import { inflate } from "../src/inflate.js";
import { parseJson } from "../src/json.js";
import { bytesOf, packed, SeededRandom, unpacked } from "./support.mjs";

const whole = unpacked(bytesOf("town.geox"));
const changed = (change) => {
  const copy = structuredClone(whole);
  return packed(change(copy) ?? copy);
};
const described = ({ head, arrays }) => head.arrays.map(({ name }) => ({ name, count: arrays[name].length }));
const refused = (bytes) => assert.rejects(Elastic.fromBytes(bytes), (error) => error instanceof GeoelasticError && error.code === "file");

test("a file taken apart and put together again is the same map", async () => {
  const [one, other] = await Promise.all([bytesOf("town.geox"), packed(whole)].map((bytes) => Elastic.fromBytes(bytes)));
  assert.deepEqual(one.metric.graph, other.metric.graph);
  assert.deepEqual(one.metric.measure, other.metric.measure);
});

const CHANGES = {
  "a scale that wraps in 32 bits": ({ arrays }) => void (arrays.scale[7] += 2 ** 32),
  "a frame of 256": ({ arrays, head }) => {
    head.arrays.push({ name: "framed" });
    arrays.framed = arrays.mass.map((_, k) => (k === 3 ? 256 : 0));
  },
  "exponent 0": ({ head }) => void (head.exponent = [0, 1]),
  "exponent 1 without heights": ({ head }) => void (head.exponent = [1, 1]),
  "exponent 2/4": ({ head }) => void (head.exponent = [2, 4]),
  "exponent 10^9": ({ head }) => void (head.exponent = [1e9, 1]),
  "heights with the half": ({ head, arrays }) => {
    head.arrays.push({ name: "height" });
    head.relief = { output: "mass", made_for: "0".repeat(64), certificate: {} };
    arrays.height = arrays.mass.map(() => 0);
  },
  "a grid that is not there": ({ head }) => void (head.grid.rows = head.grid.cols = 30000),
  "an entry that is not known": ({ head }) => void (head.shadow = 1),
  "an array that is not known": ({ head, arrays }) => {
    head.arrays.push({ name: "shadow" });
    arrays.shadow = [1];
  },
  "an array twice": ({ head }) => void head.arrays.push({ name: "mass" }),
  "a measure of nothing": ({ arrays }) => void arrays.measure.fill(0),
  "a measure above 2^31": ({ arrays }) => void (arrays.measure[0] = 2 ** 31 + 1),
  "masses above 2^52": ({ arrays }) => void arrays.mass.fill(2 ** 50),
  "places far away": ({ arrays }) => void (arrays.place_east[0] = 2 ** 40),
  "weights that could leave 31 bits": ({ arrays }) => void arrays.scale.fill(2 ** 28),
  "a layout that does not tile": ({ arrays }) => void (arrays.exponent[0] += 1),
  "levels upside down": ({ head }) => void (head.l_from = 2),
  "no requirement of a known kind": ({ head }) => void (head.requirement = { kind: "none" }),
  "a requirement of nothing": ({ head }) => void (head.requirement.l_star = 0),
  "text where a number belongs": ({ head }) => void (head.frame_cells = "2"),
  "places without the version that says so": (file) => ({ ...file, version: 1 }),
  "a later format": (file) => ({ ...file, version: 5 }),
  "a key twice": (file) => ({ ...file, text: JSON.stringify({ ...file.head, arrays: described(file) }).replace("{", '{"l_from":0.35,') }),
  "half of a character": ({ head }) => void (head.info.note = "\ud800"),
  "a header that is not JSON": (file) => ({ ...file, text: "{" }),
  "a header without end": (file) => ({ ...file, text: "[".repeat(100_000) }),
  "another text encoding": (file) => ({ ...file, text: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from("{}")]) }),
  "a body that inflates a thousandfold": (file) => ({ ...file, body: deflateRawSync(Buffer.alloc(2 ** 24)) }),
  "an empty body": (file) => ({ ...file, body: deflateRawSync(Buffer.alloc(0)) }),
  "numbers without end": (file) => ({ ...file, body: deflateRawSync(Buffer.alloc(7 * 1071, 255)) }),
};
for (const [name, change] of Object.entries(CHANGES)) test(`refused: ${name}`, () => refused(changed(change)));

test("counts are held against the bytes before anything is allocated", async () => {
  const { head } = structuredClone(whole);
  head.arrays.forEach((entry) => (entry.count = 2 ** 25));
  const begun = process.memoryUsage().rss;
  await refused(packed({ ...whole, text: JSON.stringify(head) }));
  assert.ok(process.memoryUsage().rss - begun < 2 ** 27);
});

test("inflate agrees with zlib on what it takes and what it refuses", () => {
  const random = new SeededRandom("inflate");
  const below = (n) => random.bytes(4).readUInt32BE() % n;
  let refusals = 0;
  for (let k = 0; k < 600; k++) {
    const letters = 1 + below(256);
    const plain = Buffer.from(Array.from({ length: below(2000) }, () => (below(2) ? 65 : below(letters))));
    const pressed = deflateRawSync(plain, { level: k % 10, strategy: k % 5 });
    assert.deepEqual(Buffer.from(inflate(pressed, plain.length)), plain);
    if (plain.length > 0) assert.throws(() => inflate(pressed, plain.length - 1), GeoelasticError);
    assert.throws(() => inflate(Buffer.concat([pressed, Buffer.from([0])]), plain.length), GeoelasticError);
    pressed[below(pressed.length)] ^= 1 << below(8);
    let expected = null;
    try {
      const { buffer, engine } = inflateRawSync(pressed, { info: true });
      expected = engine.bytesWritten === pressed.length ? buffer : null;
    } catch {
      refusals++;
    }
    if (expected === null) assert.throws(() => inflate(pressed, 2 ** 24), GeoelasticError);
    else assert.deepEqual(Buffer.from(inflate(pressed, 2 ** 24)), expected);
  }
  assert.ok(refusals > 50);
});

test("the header's JSON is what Python reads, and nothing else", () => {
  const read = (text) => parseJson(Buffer.from(text));
  const taken = ['{"a":[1,-0.5e-3,true,false,null,"\\u00e9\\n\\ud83d\\ude00 \u00e9"],"b":{}}', " [ ] ", "7", '"x"', '{"__proto__":1}'];
  for (const text of taken) assert.deepEqual(JSON.parse(JSON.stringify(read(text))), JSON.parse(text));
  const wrong = ["", "{", "[1,]", "{,}", '{"a" 1}', "01", "1.", ".5", "+1", "NaN", "Infinity", "-", "1e999", "'a'", '"\u0001"', '"\\x"',
    '{"a":1,"a":2}', '"\\udc00"', "[1] 2", "tru", "nulll", `[${"1".repeat(33)}]`, "[".repeat(33) + "]".repeat(33), "\ufeff1"];
  for (const text of wrong) assert.throws(() => read(text), GeoelasticError, text);
  assert.doesNotThrow(() => read("[".repeat(32) + "]".repeat(32)));
  assert.throws(() => parseJson(Uint8Array.of(0x22, 0xff, 0x22)), GeoelasticError);
});
