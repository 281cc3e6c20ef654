// SPDX-License-Identifier: Apache-2.0
// node more/firefox.mjs SITE MAP: the core tests in Firefox, over WebDriver BiDi; prints what was got, as JSON. tests/test_extension.py judges it.

import puppeteer from "puppeteer-core";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [site, map] = process.argv.slice(2);
const HERE = JSON.parse(process.env.PLACE);
const DIST = join(dirname(fileURLToPath(import.meta.url)), "../dist/firefox");
const TOGETHER = 12;

const browser = await puppeteer.launch({
  browser: "firefox", executablePath: process.env.FIREFOX, headless: true, enableExtensions: true, args: ["--remote-allow-system-access"],
  extraPrefsFirefox: {
    // a position that the test knows, and no prompt for it
    "geo.provider.testing": true, "geo.provider.network.url": `data:application/json,${JSON.stringify({ location: { lat: HERE[0], lng: HERE[1] }, accuracy: 10 })}`,
    "geo.prompt.testing": true, "geo.prompt.testing.allow": true, "extensions.webextOptionalPermissionPrompts": false,
    "extensions.webextensions.uuids": JSON.stringify({ "geoelastic@geoelastic.org": "5c8f7a5e-9d0b-4a55-8f3c-6d1b6a3a2e11" }),
    "network.connectivity-service.enabled": false, "network.captive-portal-service.enabled": false,
  },
});
const OWN = "moz-extension://5c8f7a5e-9d0b-4a55-8f3c-6d1b6a3a2e11";

async function asked(address) {
  const page = await browser.newPage();
  await page.goto(address);
  const got = await page.evaluate("early");
  await page.close();
  return got;
}

try {
  await browser.installExtension(DIST);
  const told = { without: await asked(site) };
  const options = await browser.newPage();
  // the page moves to a process of its own, and the driver does not hear that it arrived
  await Promise.race([options.goto(`${OWN}/options.html`).catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 5000))]);
  await options.waitForSelector("body[data-ready]");
  await (await options.$("#file")).uploadFile(map);
  await options.waitForSelector("body[data-done]", { timeout: 60_000 });
  told.status = await options.$eval("#status", (line) => line.textContent);
  told.with = await asked(site);
  told.again = await asked(site);
  told.strict = await asked(new URL("/strict", site).href);
  const page = await browser.newPage();
  await page.goto(site);
  const names = await page.evaluate("Object.keys(ways)");
  await page.close();
  told.ways = {};
  for (let k = 0; k < names.length; k += TOGETHER) {
    const fresh = await browser.newPage();
    await fresh.goto(site);
    Object.assign(told.ways, await fresh.evaluate((some) => globalThis.everyWay(some), names.slice(k, k + TOGETHER)));
    await fresh.close();
  }
  await options.evaluate(async (host) => {
    const { settings } = await browser.storage.local.get("settings");
    await browser.storage.local.set({ settings: { ...settings, sites: { [host]: "nothing" } } });
  }, new URL(site).host);
  told.nothing = await asked(site);
  told.kept = await options.evaluate(() => browser.storage.local.get(null));
  process.stdout.write(JSON.stringify(told));
} finally {
  await browser.close();
}
