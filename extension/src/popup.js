// SPDX-License-Identifier: Apache-2.0
// What this site got, in a sentence, and what it shall get.

import { buildingsIn, amount } from "../../src/geoelastic/service/static/words.js";
import { api } from "./api.js";
import { isAllowed } from "./device.js";
import { changeSettings, CHOICES, loadLedger, loadSettings } from "./settings.js";

const element = (id) => document.getElementById(id);
const WHY = {
  outside: "you are in no place of your maps where anybody can be hidden", frame: "you are at the border of your map", budget: "this week's reports are used up",
  file: "your map is missing or damaged", device: "the device did not say where it is",
};

/** The host in the tab, or in the address of this page when it is opened as one of its own. */
async function currentHost() {
  const named = new URLSearchParams(location.search).get("host");
  if (named !== null) return named;
  const [tab] = await api.tabs.query({ active: true, currentWindow: true });
  try {
    return new URL(tab.url).host;
  } catch {
    return "";
  }
}

async function sentence(host, got) {
  if (!got) return "This site has not asked where you are since the browser was started.";
  const when = new Date(got.when).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (got.choice === "exact") return `At ${when} this site got your exact position, as you chose.`;
  if (got.refused === 1) return `At ${when} this site asked and got nothing, as you chose.`;
  if (got.refused) return `At ${when} this site asked and got nothing: ${WHY[got.why] ?? "no protected position could be given"}.`;
  if (got.choice === "fixed") return `At ${when} this site got the place that you chose for it.`;
  const { head, ball } = await api.runtime.sendMessage({ what: "crowd", region: got.region, location: got.location });
  const buildings = buildingsIn(head, ball.mass, ball.cells);
  const crowd = buildings === null ? `everybody on ${ball.areaKm2.toPrecision(2)} km²` : `as many as live in ${amount(Number(buildings.toPrecision(2)))} buildings`;
  return `At ${when} this site got ${got.lat.toFixed(4)}, ${got.lon.toFixed(4)}, which hides you among ${crowd}.`;
}

async function show() {
  const host = await currentHost();
  const [settings, kept, ledger, allowed] = await Promise.all([loadSettings(), api.storage.session.get([`got|${host}`, `granted|${host}`]), loadLedger(), isAllowed()]);
  element("host").textContent = host || "This page";
  element("choice").replaceChildren(...Object.entries(CHOICES).map(([value, words]) => new Option(words, value)));
  element("choice").value = settings.sites[host] ?? settings.choice;
  element("choice").disabled = host === "";
  element("pause").textContent = settings.paused ? "Go on" : "Pause";
  element("pause").setAttribute("aria-pressed", String(settings.paused));
  element("left").textContent = `${Math.max(0, settings.weekly - ledger.fresh)} of ${settings.weekly} new reports are left this week.`;
  Object.assign(element("used"), { max: settings.weekly, value: Math.min(ledger.fresh, settings.weekly) });
  element("granted").hidden = !settings.own || !kept[`granted|${host}`];
  const needed = ["elastic", "live"].includes(element("choice").value);
  element("sentence").textContent = settings.paused ? "Paused: no site gets any position."
    : settings.own && !allowed && needed ? "Geoelastic may not ask the device yet, so sites get nothing. Let it, on its own page."
    : settings.order.length === 0 && needed ? "There is no map yet, so sites get nothing. Take one first."
      : await sentence(host, kept[`got|${host}`]);
  document.body.dataset.ready = "yes";
}

element("choice").addEventListener("change", async ({ target }) => {
  const host = await currentHost();
  await changeSettings(({ sites }) => ({ sites: { ...sites, [host]: target.value } }));
  show();
});
element("pause").addEventListener("click", async () => {
  await changeSettings(({ paused }) => ({ paused: !paused }));
  show();
});
element("open").addEventListener("click", () => api.runtime.openOptionsPage());
show();
