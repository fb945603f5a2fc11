import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import packageLock from "../../package-lock.json" with { type: "json" };
import { VERSION } from "../../src/shared/version.js";
import { released } from "../../tools/release/changelog.js";
import { withAbsoluteLinks } from "../../tools/release/readme-links.js";
import { versionFile } from "../../tools/release/version-file.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("the version", () => {
  it("is the same in package.json, its lock file and the client", () => {
    expect(VERSION).toBe(packageJson.version);
    expect(packageLock.version).toBe(packageJson.version);
    expect(packageLock.packages[""].version).toBe(packageJson.version);
  });
});

describe("npm version", () => {
  it("writes the version file in its current form", () => {
    expect(versionFile(packageJson.version)).toBe(read("src/shared/version.ts"));
    expect(packageJson.scripts.version).toBe("tsx tools/release/on-version.ts");
  });

  it("moves the unreleased changes under the version", () => {
    const log = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 (2026-01-01)\n\n- First.\n";
    expect(released(log, "0.2.0", "2026-02-01")).toBe(
      "# Changelog\n\n## 0.2.0 (2026-02-01)\n\n- New.\n\n## 0.1.0 (2026-01-01)\n\n- First.\n",
    );
  });

  it.each([
    ["no section", "# Changelog\n\n## 0.1.0 (2026-01-01)\n\n- First.\n"],
    ["an empty section", "# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-01-01)\n\n- First.\n"],
    ["an empty section and no other", "# Changelog\n\n## Unreleased\n"],
  ])("stops if the changelog has %s", (_, log) => {
    expect(() => released(log, "0.2.0", "2026-02-01")).toThrow("add what is new there");
  });
});

describe("the README on the registry", () => {
  const absolute = (text: string) => withAbsoluteLinks(text, "acme/stocklot", "v1.2.3");

  it.each([
    ["[Paging](docs/lists.md)", "[Paging](https://github.com/acme/stocklot/blob/v1.2.3/docs/lists.md)"],
    [
      "[X](docs/a.md#b) and [Y](LICENSE)",
      "[X](https://github.com/acme/stocklot/blob/v1.2.3/docs/a.md#b) and [Y](https://github.com/acme/stocklot/blob/v1.2.3/LICENSE)",
    ],
    [
      "![Chart](bench/charts/x.svg)",
      "![Chart](https://raw.githubusercontent.com/acme/stocklot/v1.2.3/bench/charts/x.svg)",
    ],
    ["[zod](https://zod.dev) [below](#methods)", "[zod](https://zod.dev) [below](#methods)"],
  ])("%s", (text, expected) => {
    expect(absolute(text)).toBe(expected);
  });

  it("has no relative link left", () => {
    const links = [...absolute(read("README.md")).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
    expect(links.length).toBeGreaterThan(15);
    expect(links.filter((target) => !/^(https:|#)/.test(target))).toEqual([]);
  });
});
