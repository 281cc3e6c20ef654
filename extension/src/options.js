// SPDX-License-Identifier: Apache-2.0
// The options page: maps, fences, sites, the account, and an end to all of it.

import { colourLayer } from "../../src/geoelastic/service/static/values.js";
import { api } from "./api.js";
import { allowAsking, isAllowed, stopAsking } from "./device.js";
import { closeRing, makeDrawing } from "./drawing.js";
import { addMap, allFiles, carveMap, forget, forgetAll, openMap, sharpenMap } from "./maps.js";
import { addRegion, fetchCatalogue, isDue, nextDay, packFolder, updateMaps } from "./packs.js";
import { changeSettings, CHOICES, loadLedger, loadSettings } from "./settings.js";

const element = (id) => document.getElementById(id);
const say = (text) => (element("status").textContent = text);
const spawn = () => new Worker(api.runtime.getURL("checker-worker.js"));
const options = () => ({ spawn, progress: (part) => (element("progress").value = part) });

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

function made(kind, parts, properties = {}) {
  const element = Object.assign(document.createElement(kind), properties);
  element.append(...parts);
  return element;
}

const row = (cells) => made("tr", cells.map((cell) => made("td", [cell])));
const line = (words, soft, act) => made("li", [made("span", [words, made("small", [soft])]), act]);

function button(words, act) {
  const element = made("button", [words], { type: "button" });
  element.addEventListener("click", act);
  return element;
}

function choiceOf(value, act) {
  const element = made("select", Object.entries(CHOICES).map(([name, words]) => new Option(words, name)));
  element.value = value;
  element.addEventListener("change", () => act(element.value));
  return element;
}

async function show() {
  const [settings, files, ledger, allowed] = await Promise.all([loadSettings(), allFiles(), loadLedger(), isAllowed()]);
  const byId = new Map(files.map((file) => [file.id, file]));
  const kept = settings.order.filter((id) => byId.has(id)).map((id) => byId.get(id));
  if (!byId.has(shown) || !settings.order.includes(shown)) shown = kept[0]?.id ?? null;
  element("shown").replaceChildren(...kept.map(({ id, name }) => new Option(name, id)));
  if (shown) element("shown").value = shown;
  element("which").hidden = kept.length < 2;
  showState(settings, kept, allowed);
  showMaps(settings, kept);
  showSites(settings, ledger);
  showLedger(settings, ledger);
  await showMap(settings, byId.get(shown));
  document.body.dataset.ready = "yes";
}

/** What is missing before sites can get anything, in one line at the top. */
function showState({ own, paused, choice }, kept, allowed) {
  const missing = [...(own && !allowed ? ["let Geoelastic ask the device"] : []), ...(kept.length === 0 ? ["take a map"] : [])];
  element("state").textContent = paused ? "Paused: no site gets anything." : missing.length > 0 ? `Sites get nothing yet: ${missing.join(", and ")}.`
    : `Ready: sites get ${CHOICES[choice]}, unless you chose otherwise.`;
  element("pause").textContent = paused ? "Go on" : "Pause";
  element("pause").setAttribute("aria-pressed", String(paused));
  element("device").classList.toggle("next", own && !allowed);
  element("asking").hidden = !own;
  element("allow").hidden = !own || allowed;
  element("allowed").hidden = !own || !allowed;
  element("sites-ask").checked = !own;
  element("maps-title").closest("section").classList.toggle("next", kept.length === 0);
}

function showMaps({ updates }, kept) {
  element("maps").replaceChildren(...kept.map((file) => line(
    file.name, `${(file.bytes.length / 1000).toFixed(0)} kB, of ${file.date}, checked on this device${file.licence ? `, ${file.licence}` : ""}`, button("Remove", () => removeMap(file.id)),
  )));
  element("updates").checked = updates;
  const days = kept.filter(({ from }) => from).map(nextDay).sort();
  element("next").textContent = "With the first start of the browser on or after the day that a pack names, which is the same for everybody, or when this page is opened."
    + (updates && days.length > 0 ? ` Next: ${days[0]}.` : "");
}

function showSites({ choice, sites, fixed }, ledger) {
  element("choice").replaceWith(Object.assign(choiceOf(choice, (value) => changeSettings(() => ({ choice: value })).then(show)), { id: "choice" }));
  element("fixed").textContent = fixed ? `Your chosen place: ${fixed.map((x) => x.toFixed(4)).join(", ")}.` : "";
  const hosts = [...new Set([...Object.keys(sites), ...Object.keys(ledger.sites)])].filter((host) => host !== "").sort();
  element("sites").replaceChildren(...hosts.map((host) => {
    const told = ledger.sites[host] ?? { asked: 0, fresh: 0, refused: 0 };
    const set = (value) => changeSettings((now) => ({ sites: { ...now.sites, [host]: value } })).then(show);
    const unset = () => changeSettings((now) => ({ sites: Object.fromEntries(Object.entries(now.sites).filter(([name]) => name !== host)) })).then(show);
    return row([host, choiceOf(sites[host] ?? choice, set), String(told.asked), String(told.fresh), String(told.refused), sites[host] ? button("As usual", unset) : ""]);
  }));
  element("table").hidden = hosts.length === 0;
  element("nobody").hidden = hosts.length > 0;
}

function showLedger({ weekly }, { fresh }) {
  Object.assign(element("used"), { max: weekly, high: weekly, value: Math.min(fresh, weekly) });
  element("weekly").value = weekly;
  element("ledger").textContent = `${fresh} new ${fresh === 1 ? "report was" : "reports were"} told this week, ${Math.max(0, weekly - fresh)} are left. Repetitions cost nothing.`;
  element("factor").textContent = `Two places that are as hard to tell apart as the map promises (one level of ln 2) all sites together can tell apart by a factor of at most e^${(fresh * Math.LN2).toFixed(1)}.`;
}

async function showMap({ fences, fixed }, file) {
  for (const id of ["draw", "around", "fix"]) element(id).disabled = shown === null;
  const rings = fences[shown] ?? [];
  element("fences").replaceChildren(...rings.map((ring, k) => line(`Fence ${k + 1}`, `${ring.length} corners`, button("Remove", () => setFences(rings.filter((_, j) => j !== k))))));
  element("claim").textContent = file?.claim ?? "";
  if (!file) return drawing.clear();
  try {
    const mechanism = await openMap(shown, rings);
    await colourLayer("mass", mechanism, (colours) => drawing.show(file, mechanism.metric, colours, rings, fixed), () => false);
  } catch (error) {
    say(`This map gives no positions: ${error.message}.`);
  }
  return undefined;
}

/** Keep a map by `add`, with the fences that one of its name had before, and use it. */
async function take(id, add) {
  const { fences } = await loadSettings();
  await add({ ...options(), rings: fences[id] });
  shown = id;
  await changeSettings(({ order }) => ({ order: order.includes(id) ? order : [...order, id] }));
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

async function update(files) {
  const { fences } = await loadSettings();
  const lines = await updateMaps(files.filter(({ from }) => from), fences, options());
  await touch();
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
    const { name, regions, everyDays } = await fetchCatalogue(folder);
    drawing.outlines(regions);
    element("regions").replaceChildren(...regions.map((region) => button(`${region.name} (${(region.bytes / 1000).toFixed(0)} kB)`, () =>
      work("Fetching the region, and checking every place in it …", async () => {
        await take(region.id, (given) => addRegion(folder, region, everyDays, given));
        return `${region.name} holds what it states: it is in use now.`;
      }))));
    return `${name}: choose a region.`;
  });
});
element("file").addEventListener("change", ({ target }) => work("Checking every place in the map …", async () => {
  const [file] = target.files;
  const id = file.name.replace(/\.geox$/, "");
  const bytes = new Uint8Array(await file.arrayBuffer());
  await take(id, (given) => addMap(bytes, { id, name: id, date: new Date(file.lastModified).toISOString().slice(0, 10), licence: "" }, given));
  return `${id} holds what it states: it is in use now.`;
}));
element("shown").addEventListener("change", ({ target }) => {
  shown = target.value;
  show();
});
element("allow").addEventListener("click", () => work("Asking the browser …", async () => {
  await allowAsking();
  return "Geoelastic asks the device from now on. If the browser asks about a site, say no.";
}));
element("sites-ask").addEventListener("change", async ({ target }) => {
  await changeSettings(() => ({ own: !target.checked }));
  if (target.checked) await stopAsking();
  show();
});
element("updates").addEventListener("change", ({ target }) => changeSettings(() => ({ updates: target.checked })).then(show));
element("weekly").addEventListener("change", ({ target }) => changeSettings(() => ({ weekly: Number(target.value) })).then(show));
element("pause").addEventListener("click", () => changeSettings(({ paused }) => ({ paused: !paused })).then(show));
element("update").addEventListener("click", () => work("Asking for catalogues …", async () => update(await allFiles())));
element("export").addEventListener("click", exportAll);
element("delete").addEventListener("click", deleteAll);
element("draw").addEventListener("click", () => closeRing(drawing));
show().then(async () => {
  const [{ updates }, files] = await Promise.all([loadSettings(), allFiles()]);
  const due = files.filter((file) => isDue(file));
  if (updates && due.length > 0) work("Asking for catalogues …", () => update(due));
});
