import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { RUN_ALL } from "../support/runs.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ENTRIES = [
  "index",
  "redis/index",
  "bottleneck/index",
  "sandbox/index",
  "msw/index",
  "mirror/index",
  "opentelemetry/index",
  "outbox/index",
  "plan/index",
];

/** What an editor shows for a member under the pointer. */
interface Hover {
  /** Interface and member. */
  name: string;
  text: string;
  tags: string[];
  optional: boolean;
}

function hovers(): Hover[] {
  const files = ENTRIES.map((entry) => `${root}src/${entry}.ts`);
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  const found = new Map<string, Hover>();
  for (const file of files) {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    for (const exported of module ? checker.getExportsOfModule(module) : []) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      if (!(symbol.flags & ts.SymbolFlags.Interface)) continue;
      for (const member of checker.getDeclaredTypeOfSymbol(symbol).getProperties()) {
        // Not in the published types.
        if (member.getJsDocTags(checker).some((tag) => tag.name === "internal")) continue;
        const name = `${symbol.name}.${member.name}`;
        found.set(name, {
          name,
          text: ts.displayPartsToString(member.getDocumentationComment(checker)),
          tags: member.getJsDocTags(checker).map((tag) => tag.name),
          optional: (member.flags & ts.SymbolFlags.Optional) !== 0,
        });
      }
    }
  }
  return [...found.values()];
}

// Compiling takes seconds.
describe.skipIf(!RUN_ALL)("what an editor shows", () => {
  const all = RUN_ALL ? hovers() : [];
  const options = all.filter(({ name }) => /^\w*Options\./.test(name));

  it("describes every member of every exported interface", () => {
    expect(all.length).toBeGreaterThan(200);
    // Names that need no description.
    const plain = /\.(then|message|method|type|resource|record|field|after)$/;
    expect(all.filter(({ name, text }) => text === "" && !plain.test(name)).map(({ name }) => name)).toEqual([]);
  });

  it("states a default for every optional option", () => {
    expect(options.length).toBeGreaterThan(60);
    const without = options.filter(({ optional, tags }) => optional && !tags.includes("default"));
    expect(without.map(({ name }) => name)).toEqual([]);
  });

  it("states the unit of every time", () => {
    const times = all.filter(({ name }) => /Ms$|\.(pausedUntil|expiresAt|sentAt|startedAt)$/.test(name));
    expect(times.length).toBeGreaterThan(20);
    expect(times.filter(({ text }) => !/\bms\b/.test(text)).map(({ name }) => name)).toEqual([]);
  });
});
