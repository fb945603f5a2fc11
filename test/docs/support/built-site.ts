import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A page of the built site. */
export interface SitePage {
  /** Relative to the site. */
  readonly path: string;
  readonly html: string;
}

export const sitePages = (site: string): SitePage[] =>
  readdirSync(site, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".html"))
    .map((path) => ({ path, html: readFileSync(join(site, path), "utf8") }));

/** Each link and file of the pages that leads nowhere within the site. */
export function brokenLinks(site: string, pages: readonly SitePage[]): string[] {
  const files = new Set(readdirSync(site, { recursive: true, encoding: "utf8" }));
  const anchors = new Map(pages.map(({ path, html }) => [path, new Set(valuesOf(html, "id"))]));
  return pages.flatMap(({ path, html }) =>
    valuesOf(html, "href|src")
      .filter((target) => !/^([a-z]+:|\/\/)/.test(target))
      .filter((target) => {
        const { pathname, hash } = new URL(target, `http://site/${path}`);
        const file = decodeURIComponent(pathname)
          .slice(1)
          .replace(/(^|\/)$/, "$1index.html");
        if (!files.has(file)) return true;
        return hash !== "" && !anchors.get(file)?.has(decodeURIComponent(hash.slice(1)));
      })
      .map((target) => `${path}: ${target}`),
  );
}

const valuesOf = (html: string, attribute: string) =>
  [...html.matchAll(new RegExp(`\\s(?:${attribute})="([^"]*)"`, "g"))].map(([, value = ""]) =>
    value.replaceAll("&amp;", "&"),
  );
