/** Builds the documentation site: `npm run docs [folder]`, by default into `site`. */
import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vitepress";
import { writeApiPages } from "./api.js";
import { copyFiles, PAGES, ROOT, writePages } from "./pages.js";

const site = resolve(process.argv[2] ?? `${ROOT}/site`);
rmSync(PAGES, { recursive: true, force: true });
writePages();
writeApiPages();
await build(fileURLToPath(new URL(".", import.meta.url)), { outDir: site });
copyFiles(site);
