// SPDX-License-Identifier: Apache-2.0
// A site that wants to know: ten ways to ask for a position, and what each of them got.

const EARLY = askVia(navigator.geolocation);
const ASK_WAYS = [
  ["getCurrentPosition", () => askVia(navigator.geolocation)],
  ["the page's first script", () => EARLY],
  ["watchPosition", () => askOnce((yes, no) => navigator.geolocation.watchPosition(yes, no))],
  ["the method of the prototype", () => askOnce((yes, no) => Geolocation.prototype.getCurrentPosition.call(navigator.geolocation, yes, no))],
  ["the getter of Navigator", () => askVia(Object.getOwnPropertyDescriptor(Navigator.prototype, "geolocation").get.call(navigator))],
  ["an empty frame", () => askVia(newFrame("").contentWindow.navigator.geolocation)],
  ["a frame before it has loaded", () => askVia(newFrame("demo-site-frame").contentWindow.navigator.geolocation)],
  ["a frame that has loaded", () => frameLoaded(newFrame("demo-site-frame")).then((frame) => askVia(frame.contentWindow.navigator.geolocation))],
  ["a frame's method on the page's own", () => askOnce((yes, no) => newFrame("").contentWindow.Geolocation.prototype.getCurrentPosition.call(navigator.geolocation, yes, no))],
  ["a frame within a frame", () => askVia(newFrame("", newFrame("").contentDocument.body).contentWindow.navigator.geolocation)],
];

function askOnce(act) {
  return new Promise((resolve) => {
    setTimeout(() => resolve("no answer"), 15_000);
    try {
      act(({ coords }) => resolve(`${coords.latitude.toFixed(5)}, ${coords.longitude.toFixed(5)} ± ${Math.round(coords.accuracy)} m`), ({ code }) => resolve(code === 1 ? "denied" : "unavailable"));
    } catch (error) {
      resolve(error.name);
    }
  });
}

function askVia(geolocation) {
  return askOnce((yes, no) => geolocation.getCurrentPosition(yes, no));
}

function newFrame(address, place = document.body) {
  const frame = document.createElement("iframe");
  frame.hidden = true;
  if (address) frame.src = address;
  place.append(frame);
  return frame;
}

function frameLoaded(frame) {
  return new Promise((resolve) => frame.addEventListener("load", () => resolve(frame)));
}

async function askAll() {
  delete document.body.dataset.asked;
  const rows = ASK_WAYS.map(([name]) => {
    const row = document.createElement("tr");
    row.append(...[name, "…"].map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return row;
  });
  document.getElementById("answers").replaceChildren(...rows);
  const answers = await Promise.all(ASK_WAYS.map(async ([, ask], k) => (rows[k].lastChild.textContent = await Promise.resolve().then(ask).catch(String))));
  const places = new Set(answers.filter((answer) => answer.includes(",")));
  document.getElementById("verdict").textContent = places.size === 0 ? "Nobody told this page where you are." : `${places.size} different positions in ${answers.length} answers.`;
  document.body.dataset.asked = answers.length;
}

document.getElementById("again").addEventListener("click", askAll);
askAll();
