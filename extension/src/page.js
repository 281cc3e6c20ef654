// SPDX-License-Identifier: Apache-2.0
// In the page's own world, before its first script: every way to ask for a position asks the extension instead. No true place
// ever comes here unless the person chose "the exact place" for this site, so nothing in here has to be kept from the page.

(() => {
  "use strict";
  const { GeolocationPosition, GeolocationCoordinates, GeolocationPositionError } = globalThis;
  // what is used later is taken now: the page may change it
  const { apply, defineProperty, getOwnPropertyDescriptor } = Reflect;
  const { parse, stringify } = JSON;
  const { create } = Object;
  const { addEventListener, dispatchEvent } = EventTarget.prototype;
  const { CustomEvent, FocusEvent, Map, MessageChannel, MutationObserver, WeakMap, TypeError, Event, setTimeout } = globalThis;
  const detailOf = getOwnPropertyDescriptor(CustomEvent.prototype, "detail").get;
  const UNAVAILABLE = 2;
  const PATIENCE_MS = 30_000;
  const { replaceChild, ELEMENT_NODE: ELEMENT, DOCUMENT_FRAGMENT_NODE: FRAGMENT } = Node.prototype;
  const { querySelectorAll: inElement } = Element.prototype;
  const { querySelectorAll: inFragment } = DocumentFragment.prototype;

  /** What brings nodes into a document, by the interface that has it. */
  const INSERTING = [
    ["Node", ["appendChild", "insertBefore", "replaceChild"]],
    ["Element", ["append", "prepend", "replaceChildren", "before", "after", "replaceWith", "insertAdjacentElement", "insertAdjacentHTML", "setHTML", "setHTMLUnsafe",
      "innerHTML", "outerHTML", "moveBefore"]],
    ["CharacterData", ["before", "after", "replaceWith"]], ["DocumentType", ["before", "after", "replaceWith"]],
    ["Document", ["append", "prepend", "replaceChildren", "moveBefore", "execCommand", "body"]], ["DocumentFragment", ["append", "prepend", "replaceChildren", "moveBefore"]],
    ["Range", ["insertNode", "surroundContents"]], ["HTMLTableElement", ["caption", "tHead", "tFoot"]], ["HTMLSelectElement", ["add"]], ["HTMLOptionsCollection", ["add"]],
  ];

  // A node outside the document, which both worlds hold: document.open() and the page's listeners do not reach it.
  const wire = document.createElement("i");
  const asked = new Map();
  let connected = false;
  let waiting = [];
  let next = 1;

  const on = (target, name, listener, capture = false) => apply(addEventListener, target, [name, listener, capture]);
  const tell = (target, event) => apply(dispatchEvent, target, [event]);
  const hello = () => connected || tell(globalThis, new FocusEvent("geoelastic-hello", { relatedTarget: wire }));
  const send = (message) => {
    if (connected) tell(wire, new CustomEvent("ask", { detail: stringify(message) }));
    else waiting[waiting.length] = message;
  };
  on(wire, "here", () => {
    connected = true;
    const held = waiting;
    waiting = [];
    for (let k = 0; k < held.length; k++) send(held[k]);
  });
  on(wire, "answer", (event) => {
    const { id, position, error } = parse(apply(detailOf, event, []));
    const { success, failure, once } = asked.get(id) ?? {};
    if (!success) return;
    if (once) asked.delete(id);
    if (position) success(positionOf(position));
    else if (typeof failure === "function") failure(errorOf(error));
  });
  on(globalThis, "geoelastic-ready", hello);
  hello();

  /** An object of a kind that the page expects, with values of its own. */
  function like(kind, values) {
    const made = create(kind ? kind.prototype : null);
    for (const name of Object.keys(values)) defineProperty(made, name, { value: values[name], enumerable: true });
    defineProperty(made, "toJSON", { value: () => ({ ...values }) });
    return made;
  }

  function positionOf({ coords, timestamp }) {
    return like(GeolocationPosition, { coords: like(GeolocationCoordinates, coords), timestamp });
  }

  function errorOf(error) {
    return like(GeolocationPositionError, { code: error?.code ?? UNAVAILABLE, message: error?.message ?? "" });
  }

  function begin(kind, success, failure, options) {
    const id = next++;
    asked.set(id, { success, failure, once: kind === "get" });
    const { enableHighAccuracy, maximumAge, timeout } = options ?? {};
    send({ id, kind, options: { enableHighAccuracy, maximumAge, timeout } });
    // a bridge that never came, or went
    setTimeout(() => connected || !asked.delete(id) || (typeof failure === "function" && failure(errorOf())), PATIENCE_MS);
    return id;
  }

  const methods = {
    getCurrentPosition(success, failure, options) {
      if (typeof success !== "function") throw new TypeError("getCurrentPosition needs a function to call");
      begin("get", success, failure, options);
    },
    watchPosition(success, failure, options) {
      if (typeof success !== "function") throw new TypeError("watchPosition needs a function to call");
      return begin("watch", success, failure, options);
    },
    clearWatch(id) {
      if (asked.delete(id)) send({ id, kind: "clear" });
    },
  };

  // ---- closing a window: this one, and each window of this origin that the page can reach before our script runs in it

  /** Whether this was still to be done in a window: what is closed cannot be configured again. */
  const isOpen = (prototype) => getOwnPropertyDescriptor(prototype, "getCurrentPosition")?.configurable !== false;

  function close(w) {
    const prototype = w.Geolocation?.prototype;
    if (!prototype) return;
    if (isOpen(prototype)) {
      for (const name of ["getCurrentPosition", "watchPosition", "clearWatch"]) {
        defineProperty(prototype, name, { value: methods[name], writable: false, configurable: false, enumerable: true });
      }
      closeElement(w);
      guardFrames(w);
    }
    // a window may have had another document before, and what listened went with it
    if (!attended.has(w.document)) attend(w);
  }

  const told = new WeakMap();
  const ours = new WeakMap();
  const attended = new WeakMap();
  const gone = new MessageChannel();
  gone.port2.onmessage = () => sweep(globalThis);

  /** <geolocation>, the element: it has the true position, so its own getters go, and it tells when ours is there. */
  function closeElement(w) {
    const { HTMLGeolocationElement } = w;
    if (!HTMLGeolocationElement) return;
    for (const name of ["position", "error"]) {
      const get = function () {
        return told.get(this)?.[name] ?? null;
      };
      defineProperty(HTMLGeolocationElement.prototype, name, { get, enumerable: true, configurable: false });
    }
  }

  /** What listens in a document. */
  function attend(w) {
    attended.set(w.document, true);
    on(w, "location", relay, true);
    // what the parser brings is seen before the next script of the page runs
    new MutationObserver(() => sweep(w)).observe(w.document, { childList: true, subtree: true });
    // a frame that goes elsewhere has a new window as soon as the other server has answered
    on(w, "pagehide", () => gone.port1.postMessage(0), true);
  }

  /** A <geolocation> element has a position: the page hears of it when there is a report instead. */
  function relay(event) {
    const element = event.composedPath()[0];
    if (element.localName !== "geolocation" || ours.has(event)) return;
    event.stopImmediatePropagation();
    const show = (what) => {
      told.set(element, what);
      const again = new Event("location", { bubbles: event.bubbles, composed: event.composed });
      ours.set(again, true);
      tell(element, again);
    };
    begin("get", (position) => show({ position }), (error) => show({ error }));
  }

  /** Close a window if this page may reach into it; another origin's is closed by its own scripts. */
  function closeQuietly(w) {
    try {
      if (w) close(w);
    } catch {
      // another origin
    }
  }

  /** Every frame of a window, at once: a frame with an address begins as an empty document, in which no script of ours runs. */
  function sweep(w) {
    for (let k = 0; k < w.length; k++) closeQuietly(w[k]);
  }

  /** Do something to a node with the frames in it taken out, then put them back one by one: no script beside them comes first. */
  function apart(nodes, act) {
    const taken = [];
    for (let k = 0; k < nodes.length; k++) {
      const inside = nodes[k]?.nodeType === ELEMENT ? inElement : nodes[k]?.nodeType === FRAGMENT ? inFragment : null;
      if (inside === null || nodes[k].firstElementChild === null || nodes[k].isConnected) continue;
      const frames = apply(inside, nodes[k], ["iframe, frame, object, embed"]);
      for (let j = 0; j < frames.length; j++) {
        const sign = document.createComment("");
        taken[taken.length] = [sign, frames[j]];
        apply(replaceChild, frames[j].parentNode, [sign, frames[j]]);
      }
    }
    const result = act();
    for (const [sign, frame] of taken) {
      if (sign.parentNode === null) continue;
      apply(replaceChild, sign.parentNode, [frame, sign]);
      sweepAround(frame);
    }
    return result;
  }

  function sweepAround(node) {
    const around = node?.ownerDocument?.defaultView ?? node?.defaultView;
    if (around) sweep(around);
    sweep(globalThis);
  }

  /** All ways that bring a frame into a document, or hand out its window. */
  function guardFrames(w) {
    const wrap = (holder, name, act) => {
      const found = holder && getOwnPropertyDescriptor(holder, name);
      if (!found?.configurable) return;
      const kind = found.value ? "value" : found.set ? "set" : "get";
      const real = found[kind];
      const { [name]: wrapped } = { [name](...given) {
        return act(this, given, () => apply(real, this, given));
      } };
      defineProperty(holder, name, { ...found, [kind]: wrapped });
    };
    const insert = (self, given, real) => {
      const result = apart(given, real);
      sweepAround(self.nodeType ? self : self.startContainer);
      return result;
    };
    const hand = (windowOf) => (self, given, real) => {
      const result = real();
      closeQuietly(windowOf(result));
      return result;
    };
    for (const [holder, names] of INSERTING) for (const name of names) wrap(w[holder]?.prototype, name, insert);
    for (const holder of ["HTMLIFrameElement", "HTMLFrameElement", "HTMLObjectElement", "HTMLEmbedElement"]) {
      wrap(w[holder]?.prototype, "contentWindow", hand((inner) => inner));
      for (const name of ["contentDocument", "getSVGDocument"]) wrap(w[holder]?.prototype, name, hand((inner) => inner?.defaultView));
    }
    wrap(w, "open", hand((opened) => opened));
    guardWriting(w);
  }

  /** document.write runs scripts as it goes: it is handed over piece by piece, and frames are closed before what follows them. */
  function guardWriting(w) {
    const { write } = w.Document.prototype;
    for (const name of ["write", "writeln"]) {
      const real = w.Document.prototype[name];
      const { [name]: wrapped } = { [name](...texts) {
        // a trusted text (of Trusted Types) is trusted as a whole only
        const pieces = texts.every((text) => typeof text === "string") ? texts.join("").split(/(?=<)/) : texts;
        for (let k = 0; k < pieces.length - 1; k++) {
          apply(write, this, [pieces[k]]);
          sweep(this.defaultView ?? w);
        }
        apply(real, this, pieces.slice(-1));
        sweep(this.defaultView ?? w);
      } };
      defineProperty(w.Document.prototype, name, { value: wrapped, writable: true, configurable: true, enumerable: true });
    }
  }

  close(globalThis);
})();
