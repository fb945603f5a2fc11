import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { beforeAll, describe, expect, it } from "vitest";
import { entryPoints, publicApi } from "../../tools/public-api.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { type Given, givenTo } from "./support/given.js";
import { MOST_CHARACTERS, ROOT } from "./support/markdown.js";
import { snippets } from "./support/snippets.js";

/** A program in the documentation, which readers may copy. */
interface Program {
  /** Unique, and ends in `.ts`. */
  readonly name: string;
  readonly code: string;
}

const DECLARATIONS: Record<Given, string> = {
  client: `declare const client: import("stocklot").InventoryClient;`,
  sandbox: `declare const sandbox: import("stocklot/sandbox").Sandbox;`,
};

/** Imports for the examples of options, which omit them. */
const IMPORTS = `
  import { InventoryClient } from "stocklot";
  import { createOutbox, sqliteOutboxStore } from "stocklot/outbox";
  import { createMirror, sqliteSink } from "stocklot/mirror";
`;

/** Returns the programs in the `@example` tags of a file. */
function examplesIn(path: string): Program[] {
  const source = ts.createSourceFile(path, ts.sys.readFile(path) ?? "", ts.ScriptTarget.Latest, true);
  const examples: Program[] = [];
  const visit = (node: ts.Node) => {
    const isOption = ts.isPropertySignature(node);
    const of =
      isOption || ts.isFunctionLike(node) || ts.isClassLike(node) || ts.isInterfaceDeclaration(node)
        ? node.name
        : undefined;
    for (const tag of of ? ts.getJSDocTags(node) : []) {
      if (tag.tagName.text !== "example" || tag.parent.parent !== node) continue;
      const code = (isOption ? IMPORTS : "") + (ts.getTextOfJSDocComment(tag.comment) ?? "");
      examples.push({ name: `${relative(ROOT, path)} ${of?.getText()} ${examples.length}.ts`, code });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return examples;
}

const WRONG = { name: "wrong.ts", code: "client.items.get(5);" };

/** Compiles all programs and the entry points together, because compiling what they share takes most of the time. */
function compile(programs: readonly Program[]): ts.Program {
  const code = new Map(
    programs.map(({ name, code }) => {
      const declared = givenTo(code).map((each) => DECLARATIONS[each]);
      return [join(ROOT, name), `${declared.join("")}export {};${code}`];
    }),
  );
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => code.has(path) || fileExists(path);
  host.readFile = (path) => code.get(path) ?? readFile(path);
  host.getSourceFile = (path, target, ...rest) => {
    const text = code.get(path);
    return text === undefined ? getSourceFile(path, target, ...rest) : ts.createSourceFile(path, text, target);
  };
  const roots = [...entryPoints().values(), ...code.keys()];
  return ts.createProgram(roots, { ...options, noUnusedLocals: false }, host);
}

/** The text that an editor shows when the pointer is on a member of an exported interface. */
interface Hover {
  /** The interface and its member, such as `ClientOptions.baseUrl`. */
  name: string;
  text: string;
  tags: string[];
  optional: boolean;
}

function hoversIn(program: ts.Program): Hover[] {
  const checker = program.getTypeChecker();
  const found = new Map<string, Hover>();
  for (const file of entryPoints().values()) {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    for (const exported of module ? checker.getExportsOfModule(module) : []) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      if (!(symbol.flags & ts.SymbolFlags.Interface)) continue;
      for (const member of checker.getDeclaredTypeOfSymbol(symbol).getProperties()) {
        const tags = member.getJsDocTags(checker).map((tag) => tag.name);
        // Internal members are not in the published types.
        if (tags.includes("internal")) continue;
        const name = `${symbol.name}.${member.name}`;
        const text = ts.displayPartsToString(member.getDocumentationComment(checker));
        found.set(name, { name, text, tags, optional: (member.flags & ts.SymbolFlags.Optional) !== 0 });
      }
    }
  }
  return [...found.values()];
}

const namesOf = (hovers: readonly Hover[]) => hovers.map(({ name }) => name);

/** Types that public signatures name, and that are not exported, each with the reason. */
const NOT_EXPORTED: Readonly<Record<string, string>> = {
  ApiErrorInit: "only the client creates these errors",
  BrandedError: "a helper of TypeScript",
  StandardResult: "a helper of TypeScript",
  PartialOrUndefined: "a helper of TypeScript",
  WithNull: "a helper of TypeScript",
  ItemQuantity: "the fields that three inputs have in common",
  Adjustment: "the fields that two inputs have in common",
  SqliteOutboxStore: "the members of a store are for the outbox",
  PostgresOutboxStore: "the members of a store are for the outbox",
};

it("each type that a public signature names is exported", () => {
  const src = join(ROOT, "src");
  const code = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => readFileSync(join(src, path), "utf8"));
  const namesIn = (texts: readonly string[], pattern: RegExp) =>
    new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = ""]) => name)));
  const declared = namesIn(code, /^(?:export )?(?:abstract )?(?:interface|class|type) (\w+)/gm);
  const reports = readdirSync(join(ROOT, "tools/api")).map((name) =>
    readFileSync(join(ROOT, "tools/api", name), "utf8"),
  );
  const exported = namesIn(reports, /^(?:interface|class|type) (\w+)/gm);
  const named = namesIn(
    reports.map((text) => text.replace(/"[^"]*"/g, "")),
    /\b([A-Z]\w+)\b/g,
  );
  expect(exported.size).toBeGreaterThan(100);
  const missing = [...named].filter((name) => declared.has(name) && !exported.has(name));
  expect(missing.sort()).toEqual(Object.keys(NOT_EXPORTED).sort());
});

// Compiling takes seconds.
describe.skipIf(!RUN_ALL)(`what is exported (${ONLY_IN_TEST_ALL})`, () => {
  let program: ts.Program;
  let present = new Map<string, string>();
  let hovers: Hover[] = [];
  let programs: Program[] = [];
  beforeAll(() => {
    const examples = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .flatMap((path) => examplesIn(join(ROOT, "src", path)));
    programs = [...examples, ...snippets()];
    program = compile([...programs, WRONG]);
    // Must be first: the compiler lists the members of a union type in the order in which it has read them.
    present = publicApi(program);
    hovers = hoversIn(program);
  });

  const problemsIn = ({ name }: Program) => {
    const file = program.getSourceFile(join(ROOT, name));
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      ({ messageText }) => `${name}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
    );
  };

  it("compiles in every example of a doc comment and every snippet of the README and the guides", () => {
    expect(snippets().length).toBeGreaterThan(5);
    expect(programs.length).toBeGreaterThan(snippets().length);
    expect(programs.flatMap(problemsIn)).toEqual([]);
  });

  it("has examples that fit the column of the site", () => {
    const lines = programs.flatMap(({ name, code }) => code.split("\n").map((line) => ({ name, line })));
    expect(lines.filter(({ line }) => line.length > MOST_CHARACTERS)).toEqual([]);
  });

  it("does not compile in an example that is wrong", () => {
    expect(problemsIn(WRONG)).toEqual([expect.stringContaining("'number' is not assignable")]);
  });

  it("is what the files in tools/api/ record: npm run api writes them", () => {
    const recorded = new Map(
      readdirSync(join(ROOT, "tools/api")).map((name) => [name, readFileSync(join(ROOT, "tools/api", name), "utf8")]),
    );
    expect([...recorded.keys()].sort()).toEqual([...present.keys()].sort());
    for (const [name, text] of present) expect(recorded.get(name)?.split("\n")).toEqual(text.split("\n"));
  });

  it("is described, each member of every interface", () => {
    expect(hovers.length).toBeGreaterThan(200);
    // Members whose names need no description.
    const plain = /\.(then|message|method|type|resource|record|field|after)$/;
    expect(namesOf(hovers.filter(({ name, text }) => text === "" && !plain.test(name)))).toEqual([]);
  });

  it("has a default for every optional option", () => {
    const options = hovers.filter(({ name }) => /^\w*Options\./.test(name));
    expect(options.length).toBeGreaterThan(60);
    expect(namesOf(options.filter(({ optional, tags }) => optional && !tags.includes("default")))).toEqual([]);
  });

  it("has an example for every option of a client, a call, a list, a search, an outbox and a mirror", () => {
    const shown =
      /^(Client|Request|Retry|RateLimit|Paging|ItemSearch|Outbox|Mirror)Options\.|^(StockLevels?|Item)Scope\./;
    const examples = hovers.filter(({ name }) => shown.test(name));
    expect(examples.length).toBeGreaterThan(50);
    // Required options. Every example shows them.
    const plain = /^MirrorOptions\.(client|sink)$/;
    expect(namesOf(examples.filter(({ name, tags }) => !tags.includes("example") && !plain.test(name)))).toEqual([]);
  });

  it("has a unit for every time", () => {
    const times = hovers.filter(({ name }) => /Ms$|\.(pausedUntil|expiresAt|sentAt|startedAt)$/.test(name));
    expect(times.length).toBeGreaterThan(20);
    expect(namesOf(times.filter(({ text }) => !/\bms\b/.test(text)))).toEqual([]);
  });
});
