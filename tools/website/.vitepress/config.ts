import { type DefaultTheme, defineConfig } from "vitepress";
import packageJson from "../../../package.json" with { type: "json" };
import { apiSidebar } from "../api.js";
import { drawDiagrams } from "../diagrams.js";
import { inlineDrawings } from "../drawings.js";
import { anchorOf, titleOf } from "../markdown.js";
import { FRONT_PAGE, GUIDE_GROUPS, type PageGroup, PROJECT_GROUPS } from "../navigation.js";
import { decisions, pageOf, readDocument } from "../pages.js";
import { renderForSearch, searchAsDialog } from "../search.js";
import { keepNamesWhole, makeScrollable } from "../wide-tables.js";

const item = (path: string): DefaultTheme.SidebarItem => ({
  text: path === FRONT_PAGE ? "Overview" : titleOf(readDocument(path)),
  // The link of an index page is the path of its folder. Only then VitePress marks it as the current page.
  link: `/${pageOf(path).replace(/(^|\/)index$/, "$1")}`,
});

const group = ({ title, pages }: PageGroup): DefaultTheme.SidebarItem => ({ text: title, items: pages.map(item) });

const [decisionIndex, ...decisionRecords] = decisions().map(item);

/** The path at which the site is published. */
const base = process.env.STOCKLOT_SITE_BASE ?? "/";

export default defineConfig({
  base,
  title: "stocklot",
  description: packageJson.description,
  lang: "en",
  srcDir: "pages",
  outDir: "../../site",
  cacheDir: "../../node_modules/.vitepress",
  head: [["link", { rel: "icon", href: `${base}favicon.svg` }]],
  // The build copies these files.
  ignoreDeadLinks: [/\/openapi$/, /\/LICENSE$/],
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: anchorOf },
    config(markdown) {
      drawDiagrams(markdown);
      inlineDrawings(markdown);
      makeScrollable(markdown);
      keepNamesWhole(markdown);
    },
  },
  // A higher limit, because the search index is one file.
  vite: { build: { chunkSizeWarningLimit: 3_000 }, plugins: [searchAsDialog] },
  themeConfig: {
    logo: "/favicon.svg",
    nav: [
      { text: "Guides", link: "/docs/start", activeMatch: "^/docs/(?!reference)" },
      { text: "Reference", link: "/docs/reference" },
      { text: "API reference", link: "/api/", activeMatch: "^/api/" },
      { text: "Examples", link: "/examples/", activeMatch: "^/examples/" },
      { text: `v${packageJson.version}`, link: "/CHANGELOG" },
    ],
    sidebar: {
      "/api/": apiSidebar(),
      "/": [
        ...[...GUIDE_GROUPS, ...PROJECT_GROUPS].map(group),
        // A folded group needs a link. Without a link, VitePress nests a button in a button.
        { ...decisionIndex, items: decisionRecords, collapsed: true },
      ],
    },
    outline: [2, 3],
    footer: {
      message: `<a href="${base}LICENSE">MIT licence</a> · report <a href="${base}github/CONTRIBUTING.html">a fault</a> or <a href="${base}github/SECURITY.html">a vulnerability</a>`,
    },
    search: {
      provider: "local",
      options: {
        _render: renderForSearch,
        detailedView: true,
        // These functions run in the browser, so they can use only their arguments.
        miniSearch: {
          searchOptions: {
            boost: { title: 4, titles: 2, text: 1 },
            boostDocument: (address: string) =>
              /\/docs\/(decisions|releasing)/.test(address) ? 0.3 : /\/docs\/|^\/overview/.test(address) ? 3 : 1,
            processTerm: (term: string) => {
              const word = term.toLowerCase();
              return /^(an?|the|is|are|do|does|did|how|what|which|when|where|who|why|can|could|should|i|my|me|our|we|us|you|your|it|its|of|in|on|at|to|for|from|with|be|if|and|or|happens)$/.test(
                word,
              )
                ? null
                : // Words that readers search for, with the words that the pages use.
                  ((
                    {
                      delete: ["discontinue", "delete"],
                      remove: ["removed", "discontinue"],
                      partial: ["partial", "corrects", "rejected"],
                      upsert: ["upsert", "plan"],
                      webhook: ["webhooks", "changes"],
                      webhooks: ["webhooks", "changes"],
                      idempotent: ["outbox", "key"],
                      excel: ["excel", "csv"],
                      ansi: ["windows-1252", "encoding"],
                      latin1: ["windows-1252", "encoding"],
                      nextjs: ["next", "js"],
                      kubernetes: ["containers", "docker"],
                      mssql: ["postgresql", "sqlite"],
                      barcode: ["scanner", "scanners"],
                      throttle: ["limit", "429"],
                    } as Record<string, string[]>
                  )[word] ?? word);
            },
            fuzzy: (term: string) => (term.length > 5 ? 0.15 : false),
            prefix: (term: string) => term.length > 2,
          },
        },
      },
    },
  },
});
