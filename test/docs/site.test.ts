import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENTRY_POINTS, GUIDES } from "../../tools/website/navigation.js";
import { documents, pageOf, programs } from "../../tools/website/pages.js";
import {
  type Browser,
  type BrowserPage,
  browserMissingReason,
  collectErrors,
  launchBrowser,
} from "../support/browser.js";
import { RUN_ALL } from "../support/runs.js";
import { brokenLinks, sitePages } from "./support/built-site.js";
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
  it("has a page for each document, program and entry point", () => {
    const expected = [...documents(), ...programs()].map((path) => `${pageOf(path)}.html`);
    expect([...expected, ...API_PAGES].filter((path) => !existsSync(join(site, path)))).toEqual([]);
    // One page per entry point.
    expect(readdirSync(join(site, "api/stocklot"))).toHaveLength(ENTRY_POINTS.length - 1);
  });

  it("has no link, image or anchor that leads nowhere", () => {
    const pages = sitePages(site);
    expect(pages.length).toBeGreaterThan(50);
    expect(brokenLinks(site, pages)).toEqual([]);
  });

  it("loads nothing from other hosts", () => {
    const loaded = sitePages(site).flatMap(({ html }) =>
      [...html.matchAll(/<(?:script|img|iframe)[^>]* src="(https?:[^"]+)"|<link[^>]* href="(https?:[^"]+)"/g)].map(
        ([, source, href]) => source ?? href,
      ),
    );
    expect(loaded).toEqual([]);
    const styles = readdirSync(join(site, "assets")).filter((name) => name.endsWith(".css"));
    expect(styles.filter((name) => /url\(["']?https?:/.test(read(`assets/${name}`)))).toEqual([]);
  });

  it("describes parameters, and links to the errors that a method throws", () => {
    const page = read(API_CLIENT);
    expect(page).toMatch(
      /<td[^>]*><code>scope<\/code><\/td>.*<td[^>]*>Where the records of an item are searched\.<\/td>/,
    );
    expect(page).toMatch(
      /<li><a href="\/api\/stocklot(?:\.html)?#notfounderror"><code>NotFoundError<\/code><\/a> if there is no such/,
    );
  });

  it("has a search index of less than 200 kB", () => {
    const [index = ""] = readdirSync(join(site, "assets/chunks")).filter((name) =>
      name.startsWith("@localSearchIndex"),
    );
    expect(statSync(join(site, "assets/chunks", index)).size).toBeLessThan(200_000);
  });

  it("offers the Markdown of its pages, llms.txt and openapi.json", () => {
    for (const path of ["llms.txt", "SKILL.md", "openapi.json", "docs/writes.md"]) {
      expect(read(path)).toBe(readFileSync(join(ROOT, path), "utf8"));
    }
  });
});

/** Questions, and where the guides answer them. */
const QUESTIONS = [
  ["what happens if my process dies in a receive?", "writes.html#after-a-crash"],
  ["how do I use our proxy?", "operating.html#proxy"],
  ["which field is the bin?", "reference.html#fields"],
  ["how do I import a CSV twice without double booking?", "command.html#import"],
  ["what is the default timeout?", "operating.html#how-long-a-call-may-take"],
  ["which error do I catch for a missing item?", "writes.html#errors"],
  ["how many requests per minute?", "operating.html#the-rate-limit"],
  ["can two containers share one limit?", "operating.html#share-one-limit-between-several-containers"],
  ["how do I test my code without the service?", "testing.html#test-your-code-without-the-service"],
  ["what are the reason codes?", "reference.html#reason-codes"],
  ["webhooks", "start.html#questions"],
  ["upsert", "start.html#questions"],
  ["permissions", "reference.html#permissions"],
  ["lots of one SKU", "one-item.html#lots-of-one-sku-stock-of-one-sku"],
  ["lambda", "operating.html#containers"],
  ["test 429", "testing.html#test-how-your-code-handles-a-429"],
  ["fifo", "start.html#issue-the-oldest-lots-first-fifo"],
  ["nightly report", "lists.html#write-a-nightly-report-to-csv"],
  ["wrong clock", "operating.html#if-a-clock-is-wrong"],
  ["base URL changes", "operating.html#if-the-address-changes"],
] as const;

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

  /** The pages that the search finds, best first. */
  async function search(page: BrowserPage, query: string): Promise<string[]> {
    await page.locator("#localsearch-input").fill(query);
    // The list is updated 200 ms after the last key.
    await page.waitForTimeout(300);
    await page.locator(".results .result").first().waitFor();
    const links = await page.locator(".results .result").all();
    return Promise.all(links.map(async (link) => (await link.getAttribute("href")) ?? ""));
  }

  async function openSearch(width = 1280) {
    const { page, problems } = await open("index.html", width);
    await page.locator("#local-search button").first().click();
    await page.locator("#localsearch-input").waitFor();
    return { page, problems };
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

    it("axe finds no serious problem in the search", async () => {
      const { page } = await openSearch(width);
      await search(page, "timeout");
      expect(await seriousProblems(page)).toEqual([]);
      await page.close();
    });
  });

  it("the guides are in the navigation in reading order, open, with links to the previous and next page", async () => {
    const { page } = await open("docs/writes.html", 1280);
    const links = await page.locator(".VPSidebar a").all();
    const targets = await Promise.all(links.map((link) => link.getAttribute("href")));
    const addresses = GUIDE_PAGES.map((path) => `/${path}`);
    expect(targets.slice(0, addresses.length)).toEqual(addresses);
    const index = GUIDES.indexOf("docs/writes.md");
    expect(await page.locator(".pager-link.prev").getAttribute("href")).toBe(addresses[index - 1]);
    expect(await page.locator(".pager-link.next").getAttribute("href")).toBe(addresses[index + 1]);
    for (const link of links.slice(0, addresses.length)) expect(await link.isVisible()).toBe(true);
    await page.close();
  });

  it("the search finds names", async () => {
    const { page } = await openSearch();
    const [first] = await search(page, "findReceipt");
    expect(first).toBe("/api/stocklot.html#findreceipt");
    await expect.poll(() => page.locator(".results .result .excerpt").first().textContent()).toContain("outcome");
    expect(await search(page, "NotFoundError")).toContain("/api/stocklot.html#notfounderror");
    await page.close();
  });

  it("the search answers questions", async () => {
    const { page } = await openSearch();
    for (const [question, answer] of QUESTIONS) {
      expect((await search(page, question)).slice(0, 3), question).toContain(`/docs/${answer}`);
    }
    await page.close();
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
