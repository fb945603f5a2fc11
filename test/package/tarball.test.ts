import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, extname, join } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { project } from "./consumer.js";

const LINK = /\]\(([^)\s]+)\)/g;
const CODE_BLOCK = /^```.*?^```/gms;
/** An import of another module, as the build writes it: one per line, or a call within a line. */
const IMPORT = /(?:^(?:import|export) .*?from |^import |\b(?:require|import)\()['"]([^'"]+)['"]/gm;

const root = join(project, "node_modules/stocklot");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) =>
  statSync(join(root, file)).isFile(),
);
const sizeOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => statSync(join(folder, file)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
const having = (...endings: string[]) => files.filter((file) => endings.includes(extname(file)));

const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].flatMap(([, what]) => what ?? []);

/** Returns the file that an import means. In a declaration file, `./x.js` means the declarations `./x.d.ts`. */
const declaring = (file: string, name: string) =>
  /\.d\.c?ts$/.test(file) ? name.replace(/\.js$/, ".d.ts").replace(/\.cjs$/, ".d.cts") : name;

/** Returns the package of an import: `undici` for `undici/types`, `@scope/name` for `@scope/name/part`, `fs` for `node:fs/x`. */
const packageOf = (target: string) => /^(?:node:)?((?:@[^/]+\/)?[^/]+)/.exec(target)?.[1] ?? target;

/** Returns `file: target` for each target, a relative path, that does not exist in the tarball. */
const leadingNowhere = (file: string, targets: string[]) =>
  targets
    .filter((target) => !existsSync(join(root, dirname(file), target.replace(/#.*$/, ""))))
    .map((target) => `${file}: ${target}`);

describe("the packed tarball", () => {
  it("contains what users need, and no development files", () => {
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "CHANGELOG.md", "package.json"]));
    // bench/README.md, to which the guides link, shows the charts of the benchmark.
    const ours = files.filter((file) => /(^|\/)(src|test|bench|coverage|node_modules|out)\/|\.test\./.test(file));
    expect(ours.filter((file) => !/^bench\/(README\.md|charts\/\w+\.svg)$/.test(file))).toEqual([]);
    expect(files.filter((file) => /\.(map|tgz|log|tsbuildinfo)$/.test(file))).toEqual([]);
    // These pages are for people who change the package.
    expect(files.filter((file) => /CONTRIBUTING|CODE_OF_CONDUCT|releasing|decisions/.test(file))).toEqual([]);
  });

  it("takes as much space, with its dependencies, as the guide states", () => {
    const [, total] = /take ([\d.]+) MB of files when installed/.exec(read("docs/operating.md")) ?? [];
    const installed = [...Object.keys(packageJson.dependencies), "is-network-error", "stocklot"];
    const bytes = installed.map((name) => sizeOf(join(project, "node_modules", name)));
    expect(bytes.reduce((sum, size) => sum + size) / 1e6).toBeCloseTo(Number(total), 0);
  });

  it("has every file that package.json names", () => {
    const { exports, imports, main, types, bin } = packageJson;
    const named = found(JSON.stringify({ exports, imports, main, types, bin }), /:"(\.\/[^"]+)"/g);
    expect(named).not.toHaveLength(0);
    expect(leadingNowhere("package.json", named)).toEqual([]);
  });

  it("contains what its documents link to", () => {
    const relative = having(".md").flatMap((file) => {
      const links = found(read(file).replace(CODE_BLOCK, ""), LINK).filter(
        (link) => !/^(https?:|mailto:|#)/.test(link),
      );
      return leadingNowhere(file, links);
    });
    expect(relative).toEqual([]);
  });

  it("imports only its own files, Node's modules and the packages that it declares", () => {
    const { name, dependencies, peerDependencies, imports: own } = packageJson;
    const known = [
      name,
      ...Object.keys(own),
      ...Object.keys({ ...dependencies, ...peerDependencies }),
      ...builtinModules,
      // ajv is bundled for `stocklot mcp`. It contains texts of code that import these packages, but never runs that code here.
      "ajv",
      "ajv-formats",
    ];
    const imported = having(".js", ".cjs", ".ts", ".cts")
      .filter((file) => file.startsWith("dist/"))
      .flatMap((file) => found(read(file), IMPORT).map((target) => ({ file, target: declaring(file, target) })));
    const isOwn = ({ target }: { target: string }) => target.startsWith(".");
    const foreign = imported.filter((one) => !isOwn(one)).map(({ target }) => packageOf(target));
    expect(foreign).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(foreign.filter((target) => !known.includes(target))).toEqual([]);
    expect(imported.filter(isOwn).flatMap(({ file, target }) => leadingNowhere(file, [target]))).toEqual([]);
  });

  it("does not show zod in the declarations of the main entry", () => {
    expect(found(read("dist/index.d.ts"), IMPORT)).not.toContain("zod");
  });
});
