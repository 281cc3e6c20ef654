// SPDX-License-Identifier: Apache-2.0
// JSON as a file's header may have it: bounded, every key once, finite numbers, whole characters. The browser's own parser
// takes more than that, and would read some headers otherwise than Python does.

import { GeoelasticError } from "./errors.js";

export const JSON_BYTES = 2 ** 20;
export const JSON_DEPTH = 32;
const JSON_DIGITS = 32;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const BLANK = /[ \t\n\r]*/y;
const LITERALS = { t: ["true", true], f: ["false", false], n: ["null", null] };

/** The value of a JSON text in UTF-8. Objects have no prototype: an entry is there or it is not. */
export function parseJson(bytes) {
  if (bytes.length > JSON_BYTES) throw new GeoelasticError("file", `the header has more than ${JSON_BYTES} bytes`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notJson();
  }
  const reader = new JsonReader(text);
  const value = reader.value(0);
  reader.skip();
  if (reader.at !== text.length) throw notJson();
  return value;
}

function notJson() {
  return new GeoelasticError("file", "the header is not JSON with finite numbers and every key once");
}

class JsonReader {
  constructor(text) {
    Object.assign(this, { text, at: 0 });
  }

  skip() {
    this.#match(BLANK);
  }

  #match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw notJson();
    this.at += found.length;
    return found;
  }

  #take(letter) {
    this.skip();
    if (this.text[this.at] !== letter) return false;
    this.at++;
    return true;
  }

  value(depth) {
    this.skip();
    const letter = this.text[this.at];
    if (letter === "{" || letter === "[") {
      if (depth >= JSON_DEPTH) throw new GeoelasticError("file", `the header is nested more than ${JSON_DEPTH} deep`);
      return letter === "{" ? this.#object(depth + 1) : this.#array(depth + 1);
    }
    if (letter === '"') return this.#string();
    if (!Object.hasOwn(LITERALS, letter ?? "")) return this.#number();
    const [word, value] = LITERALS[letter];
    if (!this.text.startsWith(word, this.at)) throw notJson();
    this.at += word.length;
    return value;
  }

  #object(depth) {
    const entries = Object.create(null);
    this.#take("{");
    if (this.#take("}")) return entries;
    do {
      this.skip();
      const key = this.#string();
      if (Object.hasOwn(entries, key) || !this.#take(":")) throw notJson();
      entries[key] = this.value(depth);
    } while (this.#take(","));
    if (!this.#take("}")) throw notJson();
    return entries;
  }

  #array(depth) {
    const values = [];
    this.#take("[");
    if (this.#take("]")) return values;
    do values.push(this.value(depth));
    while (this.#take(","));
    if (!this.#take("]")) throw notJson();
    return values;
  }

  #string() {
    const value = JSON.parse(this.#match(STRING));
    // \ud800 alone is half of a character, which no text in UTF-8 can hold
    if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value)) throw notJson();
    return value;
  }

  #number() {
    const digits = this.#match(NUMBER);
    if (digits.length > JSON_DIGITS || !Number.isFinite(Number(digits))) throw notJson();
    return Number(digits);
  }
}
