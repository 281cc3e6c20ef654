// SPDX-License-Identifier: Apache-2.0
// node build.mjs [FOLDER]: chromium and firefox from one source, and a zip of each whose bytes depend on the sources alone,
// in FOLDER [default: dist].

import { build } from "esbuild";
import { zipSync } from "fflate";
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { icon } from "./icons.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = resolve(process.argv[2] ?? join(HERE, "dist"));
const STATIC = join(HERE, "../src/geoelastic/service/static");
const SCRIPTS = ["page", "bridge", "worker", "popup", "options", "checker-worker", "where"];
const SIZES = [16, 32, 48, 128];
const COPIED = [
  ["src", "popup.html"], ["src", "options.html"], ["src", "where.html"], ["src", "style.css"], [STATIC, "vendor/leaflet.js"], [STATIC, "vendor/leaflet.css"],
  [STATIC, "vendor/LICENSE.leaflet"], ["..", "LICENSE"], [".", "PRIVACY.md"],
];

const { version } = JSON.parse(await readFile(join(HERE, "../client/package.json"), "utf8"));

/** One manifest for both; they differ in how a background script is named and in what only one of them knows. */
function manifest(browser) {
  const frames = { matches: ["<all_urls>"], all_frames: true, match_about_blank: true, match_origin_as_fallback: true, run_at: "document_start" };
  const icons = Object.fromEntries(SIZES.map((size) => [size, `icon-${size}.png`]));
  return {
    manifest_version: 3, name: "Geoelastic: location with a crowd around it", short_name: "Geoelastic", version,
    description: "Websites get a position that hides you in a crowd, the same size in a city and in a village. Drawn on your device, sent nowhere else.",
    icons,
    permissions: ["storage"], host_permissions: ["<all_urls>"],
    action: { default_popup: "popup.html", default_icon: icons, default_title: "What this site gets" },
    options_ui: { page: "options.html", open_in_tab: true },
    content_scripts: [{ ...frames, js: ["page.js"], world: "MAIN" }, { ...frames, js: ["bridge.js"] }],
    content_security_policy: {
      extension_pages: "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        + "connect-src https: http://localhost:* http://127.0.0.1:*; base-uri 'none'; form-action 'none'",
    },
    ...(browser === "chromium"
      ? { background: { service_worker: "worker.js" }, optional_permissions: ["offscreen"], minimum_chrome_version: "120", incognito: "split" }
      : {
          background: { scripts: ["worker.js"] }, optional_permissions: ["geolocation"],
          browser_specific_settings: {
            gecko: { id: "geoelastic@geoelastic.org", strict_min_version: "140.0", data_collection_permissions: { required: ["none"] } },
            gecko_android: { strict_min_version: "142.0" },
          },
        }),
  };
}

async function make(browser) {
  const target = join(OUT, browser);
  await rm(target, { recursive: true, force: true });
  await mkdir(join(target, "vendor"), { recursive: true });
  await build({
    entryPoints: SCRIPTS.map((name) => join(HERE, "src", `${name}.js`)), outdir: target, bundle: true, format: "iife", target: ["chrome120", "firefox140"],
    legalComments: "none", logLevel: "warning", charset: "utf8", plugins: [pageModules],
  });
  await writeFile(join(target, "manifest.json"), `${JSON.stringify(manifest(browser), null, 2)}\n`);
  for (const [from, name] of COPIED) await copyFile(join(from === STATIC ? from : join(HERE, from), name), join(target, name));
  for (const size of SIZES) await writeFile(join(target, `icon-${size}.png`), icon(size));
  await writeFile(join(OUT, `geoelastic-${browser}-${version}.zip`), await zipped(target));
}

/** A zip of a folder: names in order, the first moment that a zip knows (local time, as it is kept) for all of them. */
async function zipped(folder) {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1)).sort();
  const files = {};
  for (const name of names) files[name] = await readFile(join(folder, name));
  return zipSync(files, { level: 9, mtime: new Date(1980, 0, 1) });
}

/** The service's page names the client's modules as they lie in an installed package. Found as all others are: told by a
    path alone, whether a module may be left out would depend on who asks for it first. */
const pageModules = {
  name: "page-modules",
  setup({ onResolve, resolve: found }) {
    onResolve({ filter: /^\.\.\/client\// }, ({ path, importer, kind }) =>
      importer.startsWith(STATIC) ? found(`./${path.slice("../client/".length)}`, { kind, importer, resolveDir: join(HERE, "../client/src") }) : undefined);
  },
};

for (const browser of ["chromium", "firefox"]) await make(browser);
