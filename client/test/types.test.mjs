// SPDX-License-Identifier: Apache-2.0
// The declarations name what there is, and nothing else; with TypeScript at hand, a program that uses all of it is checked too.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as client from "../src/index.js";

const declared = readFileSync(new URL("../src/index.d.ts", import.meta.url), "utf8");

test("every export is declared, and every declaration of a value is exported", () => {
  const names = [...declared.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(names.sort(), Object.keys(client).sort());
});

test("every method of a class is there", () => {
  for (const [, name, body] of declared.matchAll(/^export class (\w+)[^{]*\{\n(.*?)^\}/gms)) {
    for (const [, fixed, member] of body.matchAll(/^ {2}(static )?(\w+)\(/gm)) {
      if (member === "constructor") continue;
      const holder = fixed ? client[name] : client[name].prototype;
      assert.equal(typeof holder[member], "function", `${name}.${member}`);
    }
  }
});

const tsc = spawnSync("tsc", ["--version"]);
test("a program in TypeScript", { skip: tsc.error ? "TypeScript is not installed" : false }, () => {
  const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "nodenext", "--moduleResolution", "nodenext"];
  const done = spawnSync("tsc", [...options, "test/types.mts"], { cwd: new URL("..", import.meta.url), encoding: "utf8" });
  assert.equal(done.status, 0, done.stdout);
});
