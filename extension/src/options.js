// SPDX-License-Identifier: Apache-2.0
// The options page: maps, fences, sites, the account, and an end to all of it.

import { colourLayer } from "../../src/geoelastic/service/static/values.js";
import { api } from "./api.js";
import { closeRing, makeDrawing } from "./drawing.js";
import { addMap, allFiles, carveMap, forget, forgetAll, openMap, sharpenMap } from "./maps.js";
import { addRegion, fetchCatalogue, packFolder } from "./packs.js";
import { changeSettings, CHOICES, loadLedger, loadSettings } from "./settings.js";

const element = (id) => document.getElementById(id);
const say = (text) => (element("status").textContent = text);
const spawn = () => new Worker(api.runtime.getURL("checker-worker.js"));
const options = () => ({ spawn, progress: (part) => (element("progress").value = part) });
const DAY_MS = 24 * 3600 * 1000;

const drawing = makeDrawing({ say, fence: addFence, fix: fixPlace });
let shown = null;

/** One long piece of work at a time; what fails is said. */
async function work(words, act) {
  say(words);
  delete document.body.dataset.done;
  element("progress").hidden = false;
  try {
    say((await act()) ?? "");
  } catch (error) {
    say(`That did not work: ${error.message}.`);
  }
  element("progress").hidden = true;
  await show();
  document.body.dataset.done = "yes";
}

function row(cells) {
  const made = document.createElement("tr");
  for (const cell of cells) {
    const place = document.createElement("td");
    place.append(cell);
    made.append(place);
  }
  return made;
}

function button(words, act, kind = "") {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: words, className: kind });
  made.addEventListener("click", act);
  return made;
}

function choiceOf(value, act) {
  const made = document.createElement("select");
  made.append(...Object.entries(CHOICES).map(([name, words]) => new Option(words, name)));
  made.value = value;
  made.addEventListener("change", () => act(made.value));
  return made;
}

async function show() {
  const [settings, files, ledger] = await Promise.all([loadSettings(), allFiles(), loadLedger()]);
  const byId = new Map(files.map((file) => [file.id, file]));
  const kept = settings.order.filter((id) => byId.has(id)).map((id) => byId.get(id));
  element("maps").replaceChildren(...kept.map((file) => row([
    `${file.name} (${(file.bytes.length / 1000).toFixed(0)} kB, ${file.date ?? ""})`, file.licence ?? "", "checked on this device", button("Remove", () => removeMap(file.id)),
  ])));
  element("shown").replaceChildren(...kept.map(({ id, name }) => new Option(name, id)));
  if (!byId.has(shown) || !settings.order.includes(shown)) shown = kept[0]?.id ?? null;
  if (shown) element("shown").value = shown;
  showSites(settings, ledger);
  element("fixed").textContent = settings.fixed ? `Your chosen place: ${settings.fixed.map((x) => x.toFixed(4)).join(", ")}.` : "No place is chosen: click one on the map.";
  element("weekly").value = settings.weekly;
  element("pause").textContent = settings.paused ? "Go on" : "Pause: no site gets anything";
  element("pause").setAttribute("aria-pressed", String(settings.paused));
  const ticks = (await api.runtime.sendMessage({ what: "ticks", level: Math.LN2 }).catch(() => 0)) ?? 0;
  element("ledger").textContent = `This week ${ledger.fresh} new reports were told, ${Math.max(0, settings.weekly - ledger.fresh)} are left. Repetitions cost nothing. All sites together can tell `
    + `places apart that are one level of ln 2 from each other by a factor of at most e^${(ledger.fresh * Math.LN2 + ticks).toFixed(1)}, live ticks included.`;
  await showMap(settings);
  document.body.dataset.ready = "yes";
}

function showSites({ choice, sites }, ledger) {
  element("choice").replaceWith(Object.assign(choiceOf(choice, (value) => changeSettings(() => ({ choice: value })).then(show)), { id: "choice" }));
  const hosts = [...new Set([...Object.keys(sites), ...Object.keys(ledger.sites)])].filter((host) => host !== "").sort();
  element("sites").replaceChildren(...hosts.map((host) => {
    const told = ledger.sites[host] ?? { asked: 0, fresh: 0, refused: 0 };
    const set = (value) => changeSettings((now) => ({ sites: { ...now.sites, [host]: value } })).then(show);
    const unset = () => changeSettings((now) => ({ sites: Object.fromEntries(Object.entries(now.sites).filter(([name]) => name !== host)) })).then(show);
    return row([host, choiceOf(sites[host] ?? choice, set), String(told.asked), String(told.fresh), String(told.refused), sites[host] ? button("As usual", unset) : ""]);
  }));
}

async function showMap({ fences, fixed }) {
  for (const id of ["draw", "around", "fix"]) element(id).disabled = shown === null;
  const rings = fences[shown] ?? [];
  element("fences").replaceChildren(...rings.map((ring, k) => row([`Fence ${k + 1}, ${ring.length} corners`, button("Remove", () => setFences(rings.filter((_, j) => j !== k)))])));
  if (shown === null) return drawing.clear();
  const [file] = (await allFiles()).filter(({ id }) => id === shown);
  element("claim").textContent = file.claim;
  try {
    const mechanism = await openMap(shown, rings);
    await colourLayer("mass", mechanism, (colours) => drawing.show(shown, mechanism.metric, colours, rings, fixed), () => false);
  } catch (error) {
    say(`This map gives no positions: ${error.message}.`);
  }
  return undefined;
}

async function keptMap(id) {
  shown = id;
  // its old fences stay in force, in the new map
  const { fences } = await loadSettings();
  await changeSettings(({ order }) => ({ order: order.includes(id) ? order : [...order, id] }));
  if (fences[id]?.length) await recarve(id, fences[id]);
  await touch();
}

/** The worker opens its maps anew. */
function touch() {
  return api.storage.local.set({ maps: Date.now() });
}

async function removeMap(id) {
  await changeSettings(({ order, fences }) => ({ order: order.filter((one) => one !== id), fences: { ...fences, [id]: undefined } }));
  await Promise.all([forget("files", id), forget("carved", id)]);
  await show();
}

function addFence(ring) {
  return loadSettings().then(({ fences }) => setFences([...(fences[shown] ?? []), ring]));
}

function setFences(rings) {
  const id = shown;
  return work("Carving, and checking every place around …", async () => {
    const later = await carveMap(id, rings, options());
    await changeSettings(({ fences }) => ({ fences: { ...fences, [id]: rings } }));
    await touch();
    document.body.dataset.fences = rings.length;
    if (later) sharpenLater(id, rings, later);
    return rings.length === 0 ? "No fences." : "The fences are in force. They were sent nowhere.";
  });
}

async function recarve(id, rings) {
  const later = await carveMap(id, rings, options());
  if (later) await sharpenMap(id, rings, later, options());
}

/** Until it is done, reports are further off; if this page is closed before, they stay so. */
async function sharpenLater(id, rings, later) {
  try {
    await sharpenMap(id, rings, later, { spawn });
    await touch();
    document.body.dataset.sharpened = rings.length;
    say("The fences are in force, and reports are as near again as the promise allows.");
  } catch (error) {
    say(`The fences are in force. Reports stay further off: ${error.message}.`);
  }
}

function fixPlace(latlon) {
  return changeSettings(() => ({ fixed: latlon })).then(show);
}

async function update() {
  const lines = [];
  for (const file of (await allFiles()).filter(({ from }) => from)) {
    const { regions, everyDays } = await fetchCatalogue(file.from);
    const now = regions.find(({ id }) => id === file.id);
    if (now && now.sha256 !== file.sha256) {
      await addRegion(file.from, now, options());
      await keptMap(file.id);
      lines.push(`${file.name} is of ${now.date} now`);
    } else lines.push(`${file.name} is up to date; there may be more in ${Math.ceil(everyDays - (Date.now() - file.asked) / DAY_MS)} days`);
  }
  return lines.length > 0 ? `${lines.join(". ")}.` : "None of your maps came from a pack.";
}

async function exportAll() {
  const kept = await api.storage.local.get(null);
  const address = URL.createObjectURL(new Blob([JSON.stringify(kept, null, 2)], { type: "application/json" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: "geoelastic.json" });
  link.click();
  URL.revokeObjectURL(address);
  say("The file holds your secret, your fences and your chosen place: keep it to yourself.");
}

async function deleteAll() {
  if (!confirm("Delete maps, fences, choices, counts and the secret? Sites then get nothing until you choose a map again, and new reports for the same places.")) return;
  await Promise.all([api.storage.local.clear(), api.storage.session.clear(), forgetAll()]);
  shown = null;
  await show();
  say("Nothing is kept any more.");
  document.body.dataset.done = "yes";
}

element("fetch").addEventListener("submit", (event) => {
  event.preventDefault();
  work("Asking for the catalogue …", async () => {
    const folder = packFolder(element("address").value);
    const { name, regions } = await fetchCatalogue(folder);
    drawing.outlines(regions);
    element("regions").replaceChildren(...regions.map((region) => button(`${region.name} (${(region.bytes / 1000).toFixed(0)} kB)`, () =>
      work("Fetching the region, and checking every place in it …", async () => {
        await addRegion(folder, region, options());
        await keptMap(region.id);
        return `${region.name} holds what it states: it is in use now.`;
      }))));
    return `${name}: choose a region.`;
  });
});
element("file").addEventListener("change", ({ target }) => work("Checking every place in the map …", async () => {
  const [file] = target.files;
  const id = file.name.replace(/\.geox$/, "");
  await addMap(new Uint8Array(await file.arrayBuffer()), { id, name: id, date: new Date(file.lastModified).toISOString().slice(0, 10), licence: "" }, options());
  await keptMap(id);
  return `${id} holds what it states: it is in use now.`;
}));
element("shown").addEventListener("change", ({ target }) => {
  shown = target.value;
  show();
});
element("weekly").addEventListener("change", ({ target }) => changeSettings(() => ({ weekly: Number(target.value) })).then(show));
element("pause").addEventListener("click", () => changeSettings(({ paused }) => ({ paused: !paused })).then(show));
element("update").addEventListener("click", () => work("Asking for catalogues …", update));
element("export").addEventListener("click", exportAll);
element("delete").addEventListener("click", deleteAll);
element("draw").addEventListener("click", () => closeRing(drawing));
show();
