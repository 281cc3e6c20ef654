// SPDX-License-Identifier: Apache-2.0
// Every way that we know to ask a browser where it is, honest and not. Each gives what it got: a list of [lat, lon] or ["error", code],
// empty if there is nothing to ask. The tests run all of them, here and in Firefox, and look for the true place.

(() => {
  const PATIENCE_MS = 6000;
  const OTHER = new URLSearchParams(location.search).get("other"); // another origin, on this machine

  const once = (act) => new Promise((resolve) => {
    const told = ({ coords }) => resolve([coords.latitude, coords.longitude]);
    const failed = (error) => resolve(["error", error?.code ?? String(error)]);
    setTimeout(() => resolve(["error", "silence"]), PATIENCE_MS);
    try {
      act(told, failed);
    } catch (error) {
      resolve(["error", error.name]);
    }
  });
  const via = (geolocation) => once((yes, no) => geolocation.getCurrentPosition(yes, no));
  const frame = (edit = () => undefined, parent = document.body) => {
    const made = document.createElement("iframe");
    made.allow = "geolocation *";
    edit(made);
    parent.append(made);
    return made;
  };
  const loaded = (element) => new Promise((resolve) => element.addEventListener("load", () => resolve(element)));
  const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  /** What a document says that asks by itself and posts what it got. */
  const ASKING = `<!doctype html><body><script>
    const say = (got) => (window.opener ?? (parent === window ? top : parent)).postMessage({ got, name: document.documentElement.dataset.name ?? NAME }, "*");
    try { navigator.geolocation.getCurrentPosition(({ coords: c }) => say([c.latitude, c.longitude]), (e) => say(["error", e.code])); }
    catch (e) { say(["error", e.name]); }
  <\/script>`;
  const PARSED = `<!doctype html><body><iframe src=/slow></iframe><script>
    frames[0].navigator.geolocation.getCurrentPosition(({ coords: c }) => parent.postMessage({ name: "parsed", got: [c.latitude, c.longitude] }, "*"),
      (e) => parent.postMessage({ name: "parsed", got: ["error", e.code] }, "*"));
  <\/script>`;
  const asking = (name) => ASKING.replace("NAME", JSON.stringify(name));
  const posted = (name) => new Promise((resolve) => {
    setTimeout(() => resolve(["error", "silence"]), PATIENCE_MS);
    addEventListener("message", ({ data }) => data?.name === name && resolve(data.got));
  });
  const inFrame = (name, edit) => {
    const got = posted(name);
    frame(edit);
    return got;
  };

  window.ways = {
    "getCurrentPosition": () => via(navigator.geolocation),
    "getCurrentPosition with every option": () => once((yes, no) => navigator.geolocation.getCurrentPosition(yes, no, { enableHighAccuracy: true, maximumAge: 1e9, timeout: 5000 })),
    "watchPosition": () => once((yes, no) => navigator.geolocation.watchPosition(yes, no)),
    "the first script of the page": () => window.early,
    "the prototype's method": () => once((yes, no) => Geolocation.prototype.getCurrentPosition.call(navigator.geolocation, yes, no)),
    "the prototype's method by Reflect": () => once((yes, no) => Reflect.apply(Object.getPrototypeOf(navigator.geolocation).watchPosition, navigator.geolocation, [yes, no])),
    "the getter of Navigator": () => via(Object.getOwnPropertyDescriptor(Navigator.prototype, "geolocation").get.call(navigator)),
    "a bound method": () => once((yes, no) => navigator.geolocation.getCurrentPosition.bind(navigator.geolocation)(yes, no)),
    "after deleting what stands in the way": () => {
      for (const holder of [navigator.geolocation, Geolocation.prototype]) for (const name of ["getCurrentPosition", "watchPosition"]) Reflect.deleteProperty(holder, name);
      return via(navigator.geolocation);
    },
    "after defining it anew": async () => {
      const before = Geolocation.prototype.getCurrentPosition;
      const done = Reflect.defineProperty(Geolocation.prototype, "getCurrentPosition", { value: before, configurable: true });
      return done && Reflect.deleteProperty(Geolocation.prototype, "getCurrentPosition") ? via(navigator.geolocation) : via(navigator.geolocation);
    },
    "every function that hangs on it": async () => {
      const found = [];
      for (let holder = navigator.geolocation; holder; holder = Object.getPrototypeOf(holder)) {
        for (const { value } of Object.values(Object.getOwnPropertyDescriptors(holder))) {
          if (typeof value === "function" && value !== Object && !/^(Geolocation|constructor)$/.test(value.name)) found.push(value);
        }
      }
      const got = await Promise.all(found.filter(({ length }) => length > 0 && length <= 3).map((method) => Promise.race([once((yes, no) => method.call(navigator.geolocation, yes, no)), later(2500).then(() => ["error", "nothing"])])));
      return got.flat().length ? got : [];
    },
    "Permissions, then the position": async () => {
      const { state } = await navigator.permissions.query({ name: "geolocation" });
      return ["granted", "prompt", "denied"].includes(state) ? via(navigator.geolocation) : ["error", state];
    },
    "an empty frame, at once": () => via(frame().contentWindow.navigator.geolocation),
    "an empty frame's method on the page's own": () => {
      const { Geolocation: theirs } = frame().contentWindow;
      return once((yes, no) => theirs.prototype.getCurrentPosition.call(navigator.geolocation, yes, no));
    },
    "the page's method on an empty frame's": () => once((yes, no) => Geolocation.prototype.getCurrentPosition.call(frame().contentWindow.navigator.geolocation, yes, no)),
    "a frame that is gone": () => {
      const made = frame();
      const { geolocation } = made.contentWindow.navigator;
      made.remove();
      return via(geolocation);
    },
    "a frame that is gone, its method on the page's own": () => {
      const made = frame();
      const { getCurrentPosition } = made.contentWindow.Geolocation.prototype;
      made.remove();
      return once((yes, no) => getCurrentPosition.call(navigator.geolocation, yes, no));
    },
    "a frame removed and put back": () => {
      const made = frame();
      made.remove();
      document.body.append(made);
      return via(made.contentWindow.navigator.geolocation);
    },
    "a frame within a frame within a frame": () => {
      let within = frame();
      for (let k = 0; k < 2; k++) within = frame(() => undefined, within.contentDocument.body);
      return via(within.contentWindow.navigator.geolocation);
    },
    "a frame in a shadow": () => {
      const host = document.body.appendChild(document.createElement("div"));
      return via(frame(() => undefined, host.attachShadow({ mode: "closed" })).contentWindow.navigator.geolocation);
    },
    "srcdoc": () => inFrame("srcdoc", (made) => (made.srcdoc = asking("srcdoc"))),
    "srcdoc, from outside at once": () => via(frame((made) => (made.srcdoc = "<p>")).contentWindow.navigator.geolocation),
    "srcdoc, from outside once loaded": async () => via((await loaded(frame((made) => (made.srcdoc = "<p>")))).contentWindow.navigator.geolocation),
    "a frame of the same site": () => inFrame("same", (made) => (made.src = "/asking?name=same")),
    "a frame of another site": () => inFrame("other", (made) => (made.src = `${OTHER}/asking?name=other`)),
    "another site within another": () => inFrame("deep", (made) => (made.src = `${OTHER}/holding?name=deep`)),
    "a sandboxed frame": () => inFrame("sandboxed", (made) => {
      made.sandbox = "allow-scripts";
      made.srcdoc = asking("sandboxed");
    }),
    "a sandboxed frame of this origin": () => inFrame("sandboxed here", (made) => {
      made.sandbox = "allow-scripts allow-same-origin";
      made.srcdoc = asking("sandboxed here");
    }),
    "a sandboxed frame of another site": () => inFrame("sandboxed there", (made) => {
      made.sandbox = "allow-scripts";
      made.src = `${OTHER}/asking?name=sandboxed there`;
    }),
    "a blob": () => inFrame("blob", (made) => (made.src = URL.createObjectURL(new Blob([asking("blob")], { type: "text/html" })))),
    "data:": () => inFrame("data", (made) => (made.src = `data:text/html,${encodeURIComponent(asking("data"))}`)),
    "javascript:": () => {
      window.wayAsked = via;
      return once((yes) => {
        window.wayTold = (got) => Promise.resolve(got).then(([latitude, longitude]) => yes({ coords: { latitude, longitude } }));
        frame((made) => (made.src = "javascript:parent.wayTold(parent.wayAsked(navigator.geolocation)),undefined"));
      });
    },
    "document.write in a frame": () => {
      const got = posted("written");
      const { contentDocument } = frame();
      contentDocument.open();
      contentDocument.write(asking("written"));
      contentDocument.close();
      return got;
    },
    "document.write that writes a frame": () => {
      const got = posted("written twice");
      const { contentDocument } = frame();
      contentDocument.write(`<iframe allow="geolocation" srcdoc="${asking("written twice").replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"></iframe>`);
      contentDocument.close();
      addEventListener("message", () => undefined);
      contentDocument.defaultView.addEventListener("message", ({ data }) => postMessage(data, "*"));
      return got;
    },
    "a race with navigation": async () => {
      const made = frame((fresh) => (fresh.src = "/asking?name=race"));
      const seen = new Set();
      for (const end = performance.now() + 1500; performance.now() < end; await later(1)) {
        const { geolocation } = made.contentWindow?.navigator ?? {};
        if (geolocation) seen.add(geolocation);
      }
      return Promise.all([...seen].map(via));
    },
    "the empty document before navigation": async () => {
      const made = frame((fresh) => (fresh.src = "/slow"));
      const { geolocation } = made.contentWindow.navigator;
      return via(geolocation);
    },
    "the same frame, navigated again and again": async () => {
      const made = frame();
      const got = [];
      for (const address of ["about:blank", "/plain", "about:blank", "/plain?2"]) {
        const come = loaded(made);
        made.src = address;
        await come;
        got.push(via(made.contentWindow.navigator.geolocation));
      }
      return Promise.all(got);
    },
    "a frame with an address, by its number, at once": () => {
      const before = window.length;
      frame((made) => (made.src = "/slow"));
      return via(window[before].navigator.geolocation);
    },
    "a frame in a text (innerHTML), by its number": () => {
      const place = document.body.appendChild(document.createElement("div"));
      place.innerHTML = "<iframe src=/slow name=texted></iframe>";
      return via(window.texted.navigator.geolocation);
    },
    "a frame in a range": () => {
      const range = document.createRange();
      range.selectNodeContents(document.body.appendChild(document.createElement("div")));
      range.insertNode(Object.assign(document.createElement("iframe"), { src: "/slow", name: "ranged" }));
      return via(window.ranged.navigator.geolocation);
    },
    "a frame put in by another frame's method": () => {
      const { appendChild } = frame().contentWindow.Node.prototype;
      appendChild.call(document.body, Object.assign(document.createElement("iframe"), { src: "/slow", name: "borrowed" }));
      return via(window.borrowed.navigator.geolocation);
    },
    "a frame that the parser made, before the next script": () => inFrame("parsed", (made) => (made.srcdoc = PARSED)),
    // known to be open to sites that have the browser's own permission (docs/extension.md): pages that are made to break it
    "open: a frame with a class of its own": () => once((yes, no) => {
      const kind = class extends HTMLIFrameElement {
        connectedCallback() {
          window[window.length - 1].navigator.geolocation.getCurrentPosition(yes, no);
        }
      };
      customElements.define("frame-of-its-own", kind, { extends: "iframe" });
      document.body.append(Object.assign(new kind(), { src: "/slow" }));
    }),
    "open: an element with a class of its own beside a frame in a text": () => once((yes, no) => {
      customElements.define("beside-a-frame", class extends HTMLElement {
        constructor() {
          if (window.length) window[window.length - 1].navigator.geolocation.getCurrentPosition(yes, no);
          super();
        }
      });
      document.body.appendChild(document.createElement("div")).innerHTML = "<iframe src=/slow></iframe><beside-a-frame></beside-a-frame>";
    }),
    "open: the same, put in as a text beside": () => once((yes, no) => {
      customElements.define("beside-another", class extends HTMLElement {
        connectedCallback() {
          window[window.length - 1].navigator.geolocation.getCurrentPosition(yes, no);
        }
      });
      document.body.insertAdjacentHTML("beforeend", "<iframe src=/slow></iframe><beside-another></beside-another>");
    }),
    "open: a frame in a list of options": () => {
      const list = document.body.appendChild(document.createElement("select"));
      const { body } = new DOMParser().parseFromString("<p><iframe src=/slow></iframe>", "text/html");
      const option = document.createElement("option");
      option.append(body.firstChild);
      list.options[0] = option;
      return via(window[window.length - 1].navigator.geolocation);
    },
    "open: a frame in a list of options, chosen": () => {
      const list = document.body.appendChild(document.createElement("select"));
      const { body } = new DOMParser().parseFromString("<select><button><selectedcontent></selectedcontent></button><option>one</option><option>two<iframe src=/slow></iframe></option></select>", "text/html");
      list.replaceWith(body.firstChild);
      const [chosen] = [...document.querySelectorAll("select")].slice(-1);
      const before = window.length;
      chosen.selectedIndex = 1;
      return window.length > before ? via(window[window.length - 1].navigator.geolocation) : [];
    },
    "a server that has answered and says nothing": async () => {
      const made = frame((fresh) => (fresh.src = "/stalled"));
      await later(1200);
      return via(made.contentWindow.navigator.geolocation);
    },
    "an object": async () => {
      const made = document.createElement("object");
      Object.assign(made, { data: "/plain", type: "text/html" });
      const come = loaded(made);
      document.body.append(made);
      await come;
      return via(made.contentWindow.navigator.geolocation);
    },
    "an embed": () => {
      const got = posted("embed");
      const made = document.createElement("embed");
      Object.assign(made, { src: "/asking?name=embed", type: "text/html" });
      document.body.append(made);
      return got;
    },
    "a frameset": () => inFrame("set", (made) => (made.srcdoc = "<frameset cols=*><frame src='/asking?name=set&up=2'></frameset>")),
    "a picture with a script (SVG)": () => inFrame("svg", (made) => (made.src = "/picture.svg")),
    "XHTML": () => inFrame("xhtml", (made) => (made.src = "/page.xhtml")),
    "a window of its own, empty, at once": async () => {
      const opened = window.open("about:blank");
      if (!opened) return ["error", "no window"];
      const got = await via(opened.navigator.geolocation);
      opened.close();
      return got;
    },
    "a window of its own without an address": async () => {
      const opened = window.open("");
      if (!opened) return ["error", "no window"];
      const got = await once((yes, no) => opened.Geolocation.prototype.getCurrentPosition.call(navigator.geolocation, yes, no));
      opened.close();
      return got;
    },
    "a worker": () => new Promise((resolve) => {
      const worker = new Worker(URL.createObjectURL(new Blob(["postMessage(String(navigator.geolocation))"])));
      worker.onmessage = ({ data }) => resolve(data === "undefined" ? [] : ["error", data]);
      worker.onerror = () => resolve(["error", "worker"]);
    }),
    "a shared worker": () => new Promise((resolve) => {
      const worker = new SharedWorker(URL.createObjectURL(new Blob(["onconnect = ({ ports: [port] }) => port.postMessage(String(navigator.geolocation))"])));
      worker.port.onmessage = ({ data }) => resolve(data === "undefined" ? [] : ["error", data]);
      setTimeout(() => resolve(["error", "silence"]), 3000);
    }),
    "the element <geolocation>": async () => {
      const made = document.createElement("geolocation");
      if (!("position" in made)) return [];
      Object.assign(made, { autolocate: true, watch: true });
      made.setAttribute("autolocate", "");
      const heard = [];
      made.addEventListener("location", () => heard.push(made.position));
      document.body.prepend(made);
      for (const end = performance.now() + 4000; performance.now() < end && !made.position; await later(50));
      return [...heard, made.position].filter(Boolean).map(({ coords }) => [coords.latitude, coords.longitude]);
    },
    "the element's getter, from a frame": async () => {
      const { HTMLGeolocationElement: theirs } = frame().contentWindow;
      if (!theirs) return [];
      const made = document.createElement("geolocation");
      made.setAttribute("autolocate", "");
      document.body.prepend(made);
      await later(2500);
      try {
        const position = Object.getOwnPropertyDescriptor(theirs.prototype, "position").get.call(made);
        return position ? [[position.coords.latitude, position.coords.longitude]] : [];
      } catch (error) {
        return ["error", error.name];
      }
    },
    // the same, on a server that is made for it
    "open: a window kept from before, on a server that has answered and says nothing": async () => {
      const made = frame();
      const kept = made.contentWindow;
      made.src = "/stalled";
      for (const end = performance.now() + 1500; performance.now() < end; await later(1)) if (kept.document.documentElement === null) return via(kept.navigator.geolocation);
      return ["error", "never seen"];
    },
    "a script beside a frame, put in together": () => once((yes, no) => {
      window.together = (geolocation) => geolocation.getCurrentPosition(yes, no);
      const script = Object.assign(document.createElement("script"), { textContent: "together(window[window.length - 1].navigator.geolocation)" });
      const both = document.createDocumentFragment();
      both.append(Object.assign(document.createElement("iframe"), { src: "/slow" }), script);
      document.body.append(both);
    }),
    "what the page hears of the wire": async () => {
      const heard = [];
      for (const name of ["geoelastic-hello", "geoelastic-ready", "ask", "answer", "here", "message"]) {
        for (const target of [window, document]) target.addEventListener(name, (event) => heard.push(JSON.stringify(event.detail ?? event.data ?? null)), true);
      }
      window.dispatchEvent(new CustomEvent("geoelastic-ready"));
      await via(navigator.geolocation);
      return heard.filter((text) => /\d\.\d{4}/.test(text) && !/"got"/.test(text)).map((text) => ["error", text]);
    },
    "what comes as JSON": () => new Promise((resolve) => navigator.geolocation.getCurrentPosition(
      (position) => {
        const { coords } = JSON.parse(JSON.stringify(position));
        resolve([coords.latitude, coords.longitude]);
      },
      ({ code }) => resolve(["error", code]))),
  };
  // all at once: each waits for the fixed delay
  window.everyWay = async (names = Object.keys(window.ways)) => Object.fromEntries(await Promise.all(names.map(async (name) => {
    const got = Promise.resolve().then(window.ways[name]).catch((error) => ["error", String(error)]);
    return [name, await Promise.race([got, later(PATIENCE_MS + 4000).then(() => ["error", "silence"])])];
  })));
})();
