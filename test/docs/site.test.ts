import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENTRY_POINTS, GUIDES } from "../../tools/website/navigation.js";
import { pageOf } from "../../tools/website/pages.js";
import {
  type Browser,
  type BrowserPage,
  browserMissingReason,
  collectErrors,
  launchBrowser,
} from "../support/browser.js";
import { RUN_ALL } from "../support/runs.js";
import { ROOT } from "./support/markdown.js";
import { serveFolder } from "./support/serve-folder.js";

const site = mkdtempSync(join(tmpdir(), "stocklot-site-"));
const read = (path: string) => readFileSync(join(site, path), "utf8");

const API_CLIENT = "api/stocklot.html";
const GUIDE_PAGES = GUIDES.map((path) => `${pageOf(path)}.html`);
const API_PAGES = ENTRY_POINTS.map((name) => `api/${name}.html`);

/** The most-read pages, and the one with the longest signature. */
const READ_MOST = ["index.html", ...GUIDE_PAGES, ...API_PAGES, "github/CONTRIBUTING.html"];

/** The pages whose accessibility is checked. */
const CHECKED = ["index.html", "docs/start.html", "docs/reference.html", "docs/operating.html", API_CLIENT];

// A warning of TypeDoc is an error, and so is a link between pages that leads nowhere.
beforeAll(async () => {
  await promisify(execFile)(process.execPath, ["--import", "tsx", "tools/website/build.ts", site], { cwd: ROOT });
});
afterAll(() => rmSync(site, { recursive: true, force: true }));

describe.skipIf(!RUN_ALL)("the site", () => {
  it("offers the Markdown of its pages, llms.txt and openapi.json", () => {
    for (const path of ["llms.txt", "SKILL.md", "openapi.json", "docs/writes.md"]) {
      expect(read(path)).toBe(readFileSync(join(ROOT, path), "utf8"));
    }
  });
});

describe.skipIf(browserMissingReason("The tests of the documentation site"))("the site, in Chromium", () => {
  let browser: Browser;
  let server: Awaited<ReturnType<typeof serveFolder>>;

  beforeAll(async () => {
    browser = await launchBrowser();
    server = await serveFolder(site);
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  async function open(path: string, width: number) {
    // Without transitions, another theme has its colours immediately.
    const page = await browser.newPage({ viewport: { width, height: 844 }, reducedMotion: "reduce" });
    const problems = collectErrors(page);
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url)) foreign.push(request.url());
    });
    await page.goto(new URL(path, server.url).href, { waitUntil: "networkidle" });
    // Of a long page, Vue names the buttons later than that.
    await page.waitForFunction("document.querySelector('#app').__vue_app__");
    return { page, problems, foreign };
  }

  describe.each([1280, 390])("%i pixels wide", (width) => {
    it.each([
      "index.html",
      "docs/lists.html",
      "docs/operating.html",
      API_CLIENT,
    ])("%s loads without an error, and sends no request to other hosts", async (path) => {
      const { page, problems, foreign } = await open(path, width);
      expect(problems).toEqual([]);
      expect(foreign).toEqual([]);
      await page.close();
    });

    it("no page is wider than the window", async () => {
      const page = await browser.newPage({ viewport: { width, height: 844 } });
      const tooWide: string[] = [];
      for (const path of READ_MOST) {
        await page.goto(new URL(path, server.url).href);
        const excess = await page
          .locator("html")
          .evaluate((html) => Reflect.get(html, "scrollWidth") - Reflect.get(html, "clientWidth"));
        if (excess > 0) tooWide.push(path);
      }
      expect(tooWide).toEqual([]);
      await page.close();
    });

    it("axe finds no serious problem on pages, nor in the colours of the dark theme", async () => {
      const problems: string[] = [];
      for (const path of CHECKED) {
        const { page } = await open(path, width);
        problems.push(...(await seriousProblems(page)).map((problem) => `${path}: ${problem}`));
        await page.emulateMedia({ colorScheme: "dark" });
        await page.locator("html.dark").waitFor();
        problems.push(
          ...(await seriousProblems(page, ["color-contrast"])).map((problem) => `${path}, dark: ${problem}`),
        );
        await page.close();
      }
      expect(problems).toEqual([]);
    });
  });
});

const axePath = createRequire(import.meta.url).resolve("axe-core");

/** What axe finds on a page and calls serious or critical, by all rules or by some. */
async function seriousProblems(page: BrowserPage, rules?: readonly string[]): Promise<string[]> {
  await page.addScriptTag({ path: axePath });
  const options = JSON.stringify(rules ? { runOnly: rules } : {});
  const found: unknown = await page.evaluate(
    `axe.run(${options}).then(({ violations }) => violations.map(({ id, impact, nodes }) => [impact, id, nodes[0].html].join(" ")))`,
  );
  return Array.isArray(found) ? found.filter((problem) => /^(serious|critical)/.test(problem)) : ["axe did not run"];
}
