import { expect, it } from "vitest";
import { blocksOf, guides } from "./support/markdown.js";

/** Returns the package name of an import specifier. */
const packageOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;

const importsOf = (code: string) =>
  [...code.matchAll(/\b(?:from|import) "([^."][^"]*)"/g)]
    .map(([, specifier = ""]) => packageOf(specifier))
    .filter((name) => name !== "stocklot" && !name.startsWith("node:"));

it("a page says how to install every package that its programs import", () => {
  const missing = guides().flatMap((page) => {
    const imported = new Set(blocksOf(page, "ts", "tsx").flatMap(({ code }) => importsOf(code)));
    const installed = [...page.text.matchAll(/npm install (?:-\S+ )*([^`\n]*)/g)].flatMap(([, names = ""]) =>
      names.split(" ").map((name) => name.replace(/(?<=.)@.*/, "")),
    );
    return [...imported].filter((name) => !installed.includes(name)).map((name) => `${page.path}: ${name}`);
  });
  expect(missing).toEqual([]);
});
