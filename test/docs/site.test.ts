import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENTRY_POINTS, GUIDES } from "../../tools/website/navigation.js";
import { pageOf } from "../../tools/website/pages.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { ROOT } from "./support/markdown.js";
import { membersByType } from "./support/public-api.js";

const site = mkdtempSync(join(tmpdir(), "stocklot-site-"));
const read = (path: string) => readFileSync(join(site, path), "utf8");

const GUIDE_PAGES = GUIDES.map((path) => `${pageOf(path)}.html`);
const API_PAGES = ENTRY_POINTS.map((name) => `api/${name}.html`);

/** The pages that are opened in a narrow window: the guides, the API reference and CONTRIBUTING.md. */
const READ_MOST = ["index.html", ...GUIDE_PAGES, ...API_PAGES, "github/CONTRIBUTING.html"];

/** A page of each kind. Their accessibility is checked, in a wide window. */
const CHECKED = ["index.html", "docs/start.html", "docs/reference.html", "api/stocklot/bottleneck.html"];

// The build fails if TypeDoc warns, or if a link between pages leads nowhere.
beforeAll(async () => {
  await promisify(execFile)(process.execPath, ["--import", "tsx", "tools/website/build.ts", site], { cwd: ROOT });
});
afterAll(() => rmSync(site, { recursive: true, force: true }));

describe.skipIf(!RUN_ALL)("the site", () => {
  it("shows what is used first, fields by their path, details folded, and where to report", () => {
    const text = read("api/stocklot.html");
    const places = ['id="inventoryclient"', 'id="inventory"', 'id="lot"', 'id="notfounderror"'].map((id) =>
      text.indexOf(id),
    );
    expect(places).toEqual([...places].sort((left, right) => left - right));
    expect(places).not.toContain(-1);
    expect(text).toContain("service.id");
    expect(text.match(/<details>/g)?.length).toBeGreaterThan(30);
    expect(read("docs/start.html")).toMatch(/<footer class="VPFooter[^"]*"/);
  });

  it("has every heading and property that the API pages link to", () => {
    const idsOf = (path: string) => new Set([...read(path).matchAll(/\bid="([^"]+)"/g)].map(([, id = ""]) => id));
    const ids = new Map(API_PAGES.map((path) => [`/${path}`, idsOf(path)]));
    const missing = API_PAGES.flatMap((path) =>
      [...read(path).matchAll(/href="([^"#]*)#([^"]+)"/g)].flatMap(([, page = "", id = ""]) => {
        const found = ids.get(page === "" ? `/${path}` : page.endsWith(".html") ? page : `${page}.html`);
        return !found || found.has(decodeURIComponent(id)) ? [] : [`${path}: ${page}#${id}`];
      }),
    );
    expect(missing).toEqual([]);
  });

  it.each(ENTRY_POINTS)("shows every member of every interface of %s, or of one that it extends", (name) => {
    const nameOf = (section: string) => /^<h3[^>]*>(?:<code[^>]*>\w+<\/code> )?(\w+)/.exec(section)?.[1];
    // A type that several entry points export is described on the page of one of them. The others link to it.
    const sections = API_PAGES.flatMap((path) => read(path).split(/(?=<h3 id=)/));
    const shownOf = (type: string): string => {
      const section = sections.filter((each) => nameOf(each) === type).join("");
      const [line = ""] = /<p>Extends .*?<\/p>/.exec(section) ?? [];
      return section + [...line.matchAll(/>(\w+)<\/code>/g)].map(([, parent = ""]) => shownOf(parent)).join("");
    };
    const missing = [...membersByType(name, "interface")].flatMap(([type, members]) =>
      members.flatMap((member) =>
        new RegExp(`id="(property-)?${member.toLowerCase()}(-\\d+)?"`).test(shownOf(type)) ? [] : [`${type}.${member}`],
      ),
    );
    expect(missing).toEqual([]);
  });

  it("offers the Markdown of its pages, llms.txt and openapi.json", () => {
    for (const path of ["llms.txt", "SKILL.md", "openapi.json", "docs/writes.md"]) {
      expect(read(path)).toBe(readFileSync(join(ROOT, path), "utf8"));
    }
  });
});

const CHROMIUM = [process.env.CHROMIUM_PATH, "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path && existsSync(path),
);
if (RUN_ALL && !CHROMIUM && process.env.STOCKLOT_REQUIRE_BROWSER) throw new Error("There is no Chromium.");
const FLAGS = [
  "no-sandbox",
  "disable-gpu",
  "disable-quic",
  "no-first-run",
  "disable-background-networking",
  "disable-component-update",
  "disable-sync",
];

const missing = RUN_ALL ? "if there is a Chromium" : ONLY_IN_TEST_ALL;
describe.skipIf(!RUN_ALL || !CHROMIUM)(`the site, in Chromium (${missing})`, () => {
  const ADDRESS = "http://site.test/";
  let browser: Browser;
  beforeAll(async () => {
    const args = FLAGS.map((flag) => `--${flag}`);
    browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args });
  });
  afterAll(() => browser?.close());

  /** Opens a browser page that gets its files from the folder of the site. A request to another host is a problem. */
  async function openPage(width: number, problems: string[] = []): Promise<Page> {
    // Reduced motion turns off transitions, so that a change of the colour scheme takes effect immediately.
    const page = await browser.newPage({ viewport: { width, height: 844 }, reducedMotion: "reduce" });
    page.on("pageerror", ({ message }) => problems.push(message));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    await page.route("**", (route, request) => {
      const { href, pathname } = new URL(request.url());
      if (href.startsWith(ADDRESS)) return route.fulfill({ path: join(site, decodeURIComponent(pathname)) });
      problems.push(`a request to ${href}`);
      return route.abort();
    });
    return page;
  }

  it("opens what is folded around the target of a link", async () => {
    const page = await openPage(1280);
    await page.goto(`${ADDRESS}api/stocklot.html`);
    const target = page.locator("#property-clientsecret");
    const row = page.locator("tr", { has: target });
    expect(await row.isVisible()).toBe(false);
    await page.evaluate("location.hash = '#property-clientsecret'");
    await row.waitFor({ state: "visible" });
    await page.close();
  });

  it("shows a program and its output instead of a command", async () => {
    const page = await openPage(390);
    await page.goto(`${ADDRESS}docs/start.html`);
    const [program, output] = [page.getByText("getStockLevel"), page.getByText("1264 available", { exact: true })];
    expect(await program.isVisible()).toBe(false);
    await page.waitForFunction("document.querySelector('#app').__vue_app__");
    await page.locator(".ways label", { hasText: "Program" }).click();
    await program.waitFor({ state: "visible" });
    expect(await output.isVisible()).toBe(true);
    await page.close();
  });

  // Most pages are opened in a narrow window only: what fits there fits a wide one, and other errors do not depend on the width.
  it.each([
    [1280, CHECKED],
    [390, READ_MOST],
  ])("%i pixels wide: pages load without an error, from no other host, fit the window, and axe finds no serious problem", async (width, paths) => {
    const problems: string[] = [];
    const page = await openPage(width, problems);
    for (const path of paths) {
      // The home page is also checked in a narrow window, where it has another menu.
      const isChecked = paths === CHECKED || path === "index.html";
      await page.emulateMedia({ colorScheme: "light" });
      await page.goto(`${ADDRESS}${path}`, { waitUntil: isChecked ? "networkidle" : "load" });
      // On a long page, Vue sets the names of buttons after the page has loaded.
      await page.waitForFunction("document.querySelector('#app').__vue_app__");
      const excess = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      if (Number(excess) > 0) problems.push(`${path} is too wide`);
      if (!isChecked) continue;
      problems.push(...(await seriousProblems(page)).map((problem) => `${path}: ${problem}`));
      await page.emulateMedia({ colorScheme: "dark" });
      await page.locator("html.dark").waitFor();
      const dark = await seriousProblems(page, ["color-contrast"]);
      problems.push(...dark.map((problem) => `${path}, dark: ${problem}`));
    }
    expect(problems).toEqual([]);
    await page.close();
  });
});

const axePath = createRequire(import.meta.url).resolve("axe-core");

/** Returns the serious and critical problems that axe finds on a page, by all rules or by the given rules. */
async function seriousProblems(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.addScriptTag({ path: axePath });
  const options = JSON.stringify(rules ? { runOnly: rules } : {});
  const found: unknown = await page.evaluate(
    `axe.run(${options}).then(({ violations }) => violations.map(({ id, impact, nodes }) => [impact, id, nodes[0].html].join(" ")))`,
  );
  return Array.isArray(found) ? found.filter((problem) => /^(serious|critical)/.test(problem)) : ["axe did not run"];
}
