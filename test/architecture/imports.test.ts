import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const root = new URL("../..", import.meta.url).pathname;
const src = join(root, "src");

/** The imports of each file of `src` within `src`, types included; paths are relative to it. */
const imports: ReadonlyMap<string, readonly string[]> = new Map(
  readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => {
      const { importedFiles } = ts.preProcessFile(readFileSync(join(src, file), "utf8"), true, true);
      const targets = importedFiles
        .filter(({ fileName }) => fileName.startsWith("."))
        .map(({ fileName }) => relative(src, join(src, dirname(file), fileName)).replace(/\.js$/, ".ts"))
        .filter((target) => !target.startsWith(".."));
      return [file, targets];
    }),
);

/** The folders of `src`: what each may import besides `shared` and `service`. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  service: [],
  client: [],
  redis: ["client"],
  bottleneck: ["client"],
  opentelemetry: ["client"],
  storage: ["client"],
  writes: ["client"],
  bulk: ["client"],
  outbox: ["client", "storage", "writes", "bulk"],
  plan: ["client", "storage", "writes", "bulk", "outbox"],
  mirror: ["client", "storage", "bulk"],
  sandbox: [],
  msw: ["sandbox"],
  mcp: ["client", "outbox", "plan", "mirror"],
  command: ["client", "storage", "writes", "bulk", "outbox", "plan", "mirror", "sandbox", "mcp"],
};

/** The files of a room that other rooms may import. Of a room that is not listed here, they may import every file. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  client: ["client/index.ts", "client/for-add-ons.ts"],
  outbox: ["outbox/index.ts", "outbox/for-rooms.ts"],
  plan: ["plan/index.ts", "plan/for-rooms.ts"],
  mirror: ["mirror/index.ts", "mirror/for-rooms.ts"],
};

const contributing = readFileSync(join(root, ".github/CONTRIBUTING.md"), "utf8");

const roomOf = (file: string) => file.split("/")[0] ?? file;

/** Returns everything that can be reached from `start` in the graph. */
function below(start: string, graph: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>();
  const waiting = [...(graph.get(start) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...(graph.get(next) ?? []));
  }
  return reached;
}

const inRooms = [...imports].filter(([file]) => file !== "index.ts");

it("each folder is a room, and each room a folder", () => {
  expect([...new Set(inRooms.map(([file]) => roomOf(file)))].sort()).toEqual(Object.keys(ROOMS).sort());
});

it("a room imports only what it may", () => {
  const below: Readonly<Record<string, readonly string[]>> = { shared: [], service: ["shared"] };
  const against = inRooms.flatMap(([file, targets]) => {
    const room = roomOf(file);
    const allowed = [room, ...(below[room] ?? ["shared", "service"]), ...(ROOMS[room] ?? [])];
    return targets.filter((target) => !allowed.includes(roomOf(target))).map((target) => `${file} → ${target}`);
  });
  expect(against).toEqual([]);
});

it("a room is entered through its door", () => {
  const past = inRooms.flatMap(([file, targets]) =>
    targets
      .filter((target) => roomOf(target) !== roomOf(file) && DOORS[roomOf(target)]?.includes(target) === false)
      .map((target) => `${file} → ${target}`),
  );
  expect(past).toEqual([]);
});

it("the tools for assistants work with the public API: what else they need is passed in by the command", () => {
  const inner = [...imports.keys()].filter((file) => roomOf(file) === "mcp").flatMap(valuesFromDoors);
  expect(inner.filter((target) => !/^\.\.\/(\w+\/index|(shared|service)\/.*)\.js$/.test(target))).toEqual([]);
});

/** The modules of other rooms from which a file imports more than types. */
function valuesFromDoors(file: string): string[] {
  const { statements } = ts.createSourceFile(file, readFileSync(join(src, file), "utf8"), ts.ScriptTarget.ES2022);
  return statements.filter(ts.isImportDeclaration).flatMap(({ importClause, moduleSpecifier }) => {
    const target = ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : "";
    return target.startsWith("../") && !importClause?.isTypeOnly ? target : [];
  });
}

it("no room uses its own door", () => {
  const own = inRooms.filter(([file, targets]) =>
    targets.some((target) => roomOf(target) === roomOf(file) && DOORS[roomOf(file)]?.includes(target)),
  );
  expect(own.map(([file]) => file)).toEqual([]);
});

it("the picture of the client's folders in CONTRIBUTING.md is the picture of their imports", () => {
  const folderOf = (file: string) => (/^client\/(\w+)\//.exec(file) ?? [])[1];
  const imported = inRooms.flatMap(([file, targets]) =>
    targets
      .map((target) => [folderOf(file), folderOf(target)])
      .filter(([from, to]) => from && to && from !== to)
      .map((edge) => edge.join(" → ")),
  );
  const [, picture = ""] = /```mermaid\nflowchart TD\n([\s\S]*?)```/.exec(contributing) ?? [];
  const drawn = picture
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [from, to = ""] = line.trim().split(" --> ");
      return to.split(" & ").map((one) => `${from} → ${one}`);
    });
  expect(drawn.sort()).toEqual([...new Set(imported)].sort());
  // The folders form layers: no folder imports itself through other folders.
  const layers = new Map<string, string[]>();
  for (const edge of drawn) {
    const [from = "", to = ""] = edge.split(" → ");
    layers.set(from, [...(layers.get(from) ?? []), to]);
  }
  expect([...layers.keys()].filter((folder) => below(folder, layers).has(folder))).toEqual([]);
});

it("each room is in the table of CONTRIBUTING.md", () => {
  expect(Object.keys(ROOMS).filter((room) => !contributing.includes(`\`src/${room}\``))).toEqual([]);
});

it("no file imports itself through others", () => {
  expect([...imports.keys()].filter((file) => below(file, imports).has(file))).toEqual([]);
});

it("what a check of options returns is used: the caller may change its own object meanwhile", () => {
  const ignored: string[] = [];
  const visit = (file: string) => (node: ts.Node) => {
    if (ts.isExpressionStatement(node) && /^check(MethodOptions|Configuration)\(/.test(node.getText()))
      ignored.push(`${file}: ${node.getText()}`);
    ts.forEachChild(node, visit(file));
  };
  for (const file of imports.keys()) {
    const text = readFileSync(join(src, file), "utf8");
    ts.forEachChild(ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true), visit(file));
  }
  expect(ignored).toEqual([]);
});

it("no error is changed after it was created: a caller may hold it already", () => {
  const files = [...imports.keys()].filter((file) => !file.startsWith("shared/errors/"));
  const changed = files.filter((file) =>
    /[eE]rror\.(message|cause|applied|name) \+?= |Object\.assign\(\w*[eE]rror\b/.test(
      readFileSync(join(src, file), "utf8"),
    ),
  );
  expect(changed).toEqual([]);
});

it("one name, one thing: no two files declare the same name", () => {
  const files = new Map<string, string[]>();
  for (const file of imports.keys()) {
    const source = ts.createSourceFile(file, readFileSync(join(src, file), "utf8"), ts.ScriptTarget.Latest, true);
    const names = source.statements.flatMap((statement) => {
      if (ts.isVariableStatement(statement))
        return statement.declarationList.declarations.map(({ name }) => name.getText());
      const { name } = statement as { name?: ts.Identifier };
      return name ? [name.text] : [];
    });
    for (const name of new Set(names)) files.set(name, [...(files.get(name) ?? []), file]);
  }
  expect([...files].filter(([, declaredIn]) => declaredIn.length > 1)).toEqual([]);
});
