// SPDX-License-Identifier: Apache-2.0
// node more/firefox.mjs SITE MAP: the core tests in Firefox, over WebDriver BiDi; prints what was got, as JSON. tests/test_extension.py judges it.
// MODE: who may ask the device. "own": the extension, and nobody has answered the browser's question about a site; "refused": the extension,
// and the browser was told to refuse the site; "sites": the weaker choice, the browser trusts every site.

import puppeteer from "puppeteer-core";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [site, map] = process.argv.slice(2);
const { MODE, FIREFOX } = process.env;
const HERE = JSON.parse(process.env.PLACE);
const DIST = join(dirname(fileURLToPath(import.meta.url)), "../dist/firefox");
const TOGETHER = 12;
const OWN = "moz-extension://5c8f7a5e-9d0b-4a55-8f3c-6d1b6a3a2e11";

/** What the browser was told about sites before. */
const TOLD = join(DIST, "../told-to-firefox");
await writeFile(TOLD, MODE === "refused" ? `origin\tgeo\t2\t${new URL(site).origin}\n` : "");
const browser = await puppeteer.launch({
  browser: "firefox", executablePath: FIREFOX, headless: true, enableExtensions: true, args: ["--remote-allow-system-access"],
  extraPrefsFirefox: {
    // a position that the test knows
    "geo.provider.testing": true, "geo.provider.network.url": `data:application/json,${JSON.stringify({ location: { lat: HERE[0], lng: HERE[1] }, accuracy: 10 })}`,
    ...(MODE === "sites" ? { "geo.prompt.testing": true, "geo.prompt.testing.allow": true } : { "permissions.manager.defaultsUrl": pathToFileURL(TOLD).href }),
    "extensions.webextOptionalPermissionPrompts": false,
    "extensions.webextensions.uuids": JSON.stringify({ "geoelastic@geoelastic.org": new URL(OWN).host }),
    "network.connectivity-service.enabled": false, "network.captive-portal-service.enabled": false,
  },
});

async function asked(address) {
  const page = await browser.newPage();
  await page.goto(address);
  const got = await page.evaluate("early");
  await page.close();
  return got;
}

async function everyWay() {
  const page = await browser.newPage();
  await page.goto(site);
  const names = await page.evaluate("Object.keys(ways)");
  await page.close();
  const got = {};
  for (let k = 0; k < names.length; k += TOGETHER) {
    const fresh = await browser.newPage();
    await fresh.goto(site);
    Object.assign(got, await fresh.evaluate((some) => globalThis.everyWay(some), names.slice(k, k + TOGETHER)));
    await fresh.close();
  }
  return got;
}

/** What a frame gets that nobody has allowed to ask. */
async function bare(address) {
  const page = await browser.newPage();
  await page.goto(new URL("/plain", site).href);
  const got = await page.evaluate((src) => new Promise((resolve) => {
    addEventListener("message", ({ data }) => data?.name === "bare" && resolve(data.got));
    document.body.append(Object.assign(document.createElement("iframe"), { src }));
  }), new URL("/asking?name=bare", address).href);
  await page.close();
  return got;
}

try {
  await browser.installExtension(DIST);
  const options = await browser.newPage();
  // the page moves to a process of its own, and the driver does not hear that it arrived
  await Promise.race([options.goto(`${OWN}/options.html`).catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 5000))]);
  await options.waitForSelector("body[data-ready]");
  const change = (settings) => options.evaluate(async (some) => {
    const { settings: before } = await browser.storage.local.get("settings");
    await browser.storage.local.set({ settings: { ...before, ...some } });
  }, settings);
  const told = { without: await asked(site) };
  if (MODE === "sites") await change({ own: false });
  else {
    await options.click("#allow");
    await options.waitForSelector("#allowed:not([hidden])", { timeout: 20_000 });
  }
  told.empty = await asked(site);
  await options.waitForSelector("body[data-done]").catch(() => undefined);
  await options.evaluate(() => delete document.body.dataset.done);
  await (await options.$("#file")).uploadFile(map);
  await options.waitForSelector("body[data-done]", { timeout: 60_000 });
  told.status = await options.$eval("#status", (line) => line.textContent);
  told.with = await asked(site);
  told.again = await asked(site);
  told.strict = await asked(new URL("/strict", site).href);
  told.ways = await everyWay();
  told.bare = [await bare(site), await bare(new URL(site).searchParams.get("other"))];
  await change({ sites: { [new URL(site).host]: "nothing" } });
  told.nothing = await asked(site);
  await change({ sites: { [new URL(site).host]: "exact" } });
  told.exact = await asked(site);
  if (MODE !== "sites") {
    await change({ sites: {} });
    await options.evaluate(() => browser.permissions.remove({ permissions: ["geolocation"] }));
    told.takenBack = await asked(site);
  }
  told.kept = await options.evaluate(() => browser.storage.local.get(null));
  process.stdout.write(JSON.stringify(told));
} finally {
  await browser.close();
}
