import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Browser, browserMissingReason, collectErrors, launchBrowser } from "../support/browser.js";
import { RUN_ALL } from "../support/runs.js";
import { guides, ROOT } from "./support/markdown.js";
import { serveFolder } from "./support/serve-folder.js";

const site = mkdtempSync(join(tmpdir(), "stocklot-site-"));
const typedoc = join(ROOT, "node_modules/typedoc/bin/typedoc");

// A warning is an error: a name without a comment, a link that leads nowhere.
beforeAll(async () => {
  await promisify(execFile)(process.execPath, ["--import", "tsx", typedoc, "--out", site], { cwd: ROOT });
}, 180_000);
afterAll(() => rmSync(site, { recursive: true, force: true }));

const GUIDES = guides().flatMap(({ path }) => path.match(/^docs\/(.+)\.md$/)?.[1] ?? []);
const MODULES = [
  "stocklot",
  ...["bottleneck", "mirror", "msw", "opentelemetry", "outbox", "redis", "sandbox"].map((name) => `stocklot_${name}`),
];

/** The most-read pages, and the one with the longest signature. */
const READ_MOST = [
  "index.html",
  ...GUIDES.map((name) => `documents/${name}.html`),
  ...MODULES.map((name) => `modules/${name}.html`),
  "classes/stocklot.InventoryClient.html",
  "functions/stocklot_msw.sandboxHandlers.html",
];

it.skipIf(!RUN_ALL)("every guide and every entry point has a page", () => {
  expect(READ_MOST.filter((path) => !existsSync(join(site, path)))).toEqual([]);
  expect(readdirSync(join(site, "modules"))).toHaveLength(MODULES.length);
});

describe.skipIf(browserMissingReason("The tests of the documentation site"))("the site, in Chromium", () => {
  let browser: Browser;
  let server: Awaited<ReturnType<typeof serveFolder>>;

  beforeAll(async () => {
    browser = await launchBrowser();
    server = await serveFolder(site);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  async function open(path: string, width: number) {
    const page = await browser.newPage({ viewport: { width, height: 844 } });
    const problems = collectErrors(page);
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url)) foreign.push(request.url());
    });
    await page.goto(new URL(path, server.url).href);
    // A script builds the navigation last.
    await page.locator("#tsd-nav-container a").first().waitFor({ state: "attached" });
    return { page, problems, foreign };
  }

  describe.each([1280, 390])("%i pixels wide", (width) => {
    it.each([
      "index.html",
      "documents/paging.html",
      "classes/stocklot.InventoryClient.html",
    ])("%s loads without an error, and sends no request to other hosts", async (path) => {
      const { page, problems, foreign } = await open(path, width);
      await page.waitForLoadState("networkidle");
      expect(problems).toEqual([]);
      expect(foreign).toEqual([]);
      await page.close();
    });

    it("no page is wider than the window", { timeout: 60_000 }, async () => {
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

    it("the navigation leads to a guide", async () => {
      const { page } = await open("index.html", width);
      if (width < 770) await page.locator("#tsd-toolbar-menu-trigger").click();
      const navigation = page.locator("#tsd-nav-container");
      await navigation.getByText("Guides", { exact: true }).click();
      await navigation.getByRole("link", { name: "Quick start" }).click();
      await page.getByRole("heading", { level: 1, name: "Quick start" }).waitFor();
      expect(new URL(page.url()).pathname).toBe("/documents/quick-start.html");
      await page.close();
    });
  });

  it("links of the README lead to pages of the site", async () => {
    const { page } = await open("index.html", 1280);
    await page.locator(".col-content").getByRole("link", { name: "Scaling" }).first().click();
    await page.getByRole("heading", { level: 1, name: /^Scaling/ }).waitFor();
    await page.close();
  });

  it("the search finds names and guides", async () => {
    const { page, problems } = await open("index.html", 1280);
    await page.locator("#tsd-search-trigger").click();
    await page.locator("#tsd-search-input").fill("findReceipt");
    await page.locator("#tsd-search-results a").first().waitFor();
    expect(await page.locator("#tsd-search-results").textContent()).toContain("findReceipt");
    expect(problems).toEqual([]);
    await page.close();
  });
});
