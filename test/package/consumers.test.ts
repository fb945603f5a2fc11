import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = new URL("../..", import.meta.url).pathname;
const project = mkdtempSync(join(tmpdir(), "stocklot-consumer-"));

const run = (command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

function write(path: string, text: string): void {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
}

beforeAll(() => {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", project], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
  write("package.json", JSON.stringify({ name: "consumer", private: true, version: "1.0.0" }));
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  run(
    "npm",
    "install",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    join(project, packed.filename),
    `typescript@${devDependencies.typescript}`,
    `@types/node@${devDependencies["@types/node"]}`,
  );
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

/** The main job in a few lines, as README shows it. */
const program = (load: string) => `${load}
async function main() {
  const sandbox = createSandbox({ items: 20, lots: 300 });
  const server = await sandbox.listen({ port: 0 });
  const client = new InventoryClient({ baseUrl: server.url, ...sandbox.credentials });
  let lots = 0;
  for await (const lot of client.inventory.listLots()) lots += lot.recNo > 0 ? 1 : 0;
  const missing = await client.items.get("no such SKU").catch((error) => error);
  console.log(lots, missing instanceof NotFoundError, missing.name);
  await client.close();
  await server.close();
}
main();`;

const names = "{ InventoryClient, NotFoundError }";

describe("a project that installed the packed tarball", () => {
  it("reads all lots from an ES module", () => {
    write("main.mjs", program(`import ${names} from "stocklot"; import { createSandbox } from "stocklot/sandbox";`));
    expect(run("node", "main.mjs").trim()).toBe("300 true NotFoundError");
  });

  it("reads all lots from CommonJS, also where ES modules cannot be required", () => {
    write(
      "main.cjs",
      program(`const ${names} = require("stocklot"); const { createSandbox } = require("stocklot/sandbox");`),
    );
    expect(run("node", "main.cjs").trim()).toBe("300 true NotFoundError");
    expect(run("node", "--no-experimental-require-module", "main.cjs").trim()).toBe("300 true NotFoundError");
  });

  it("has one error tree though both copies are loaded", () => {
    write(
      "both.mjs",
      `import { createRequire } from "node:module";
       import * as esm from "stocklot";
       const cjs = createRequire(import.meta.url)("stocklot");
       const init = { status: 404, code: "not_found", message: "m", method: "GET", path: "/", headers: {}, attempts: 1 };
       const errors = [[new cjs.NotFoundError(init), esm], [new esm.NotFoundError(init), cjs]];
       for (const [error, other] of errors) console.log(
         esm.NotFoundError !== cjs.NotFoundError,
         error instanceof other.NotFoundError, error instanceof other.ApiError, error instanceof other.StocklotError,
         other.NotFoundError.is(error), error instanceof other.ConflictError);`,
    );
    expect(run("node", "both.mjs").trim().split("\n")).toEqual(Array(2).fill("true true true true true false"));
  });

  it.each([
    ["nodenext", "nodenext", "main.mts"],
    ["node16", "node16", "main.cts"],
    ["esnext", "bundler", "main.ts"],
  ])("compiles with module %s and moduleResolution %s, its declarations included", (module, moduleResolution, file) => {
    write(
      file,
      `import { InventoryClient, type Lot, type ClientOptions, ApiError } from "stocklot";
       import { createSandbox } from "stocklot/sandbox";
       const options: ClientOptions = { fetch: createSandbox().fetch };
       export const lots: Promise<Lot[]> = new InventoryClient(options).inventory.listLots({ wid: 3 }).toArray();
       export const isApi = (error: unknown): number | undefined => ApiError.is(error) ? error.status : undefined;
       // @ts-expect-error a warehouse ID is a number
       new InventoryClient(options).inventory.listLots({ wid: "3" });`,
    );
    const compilerOptions = {
      module,
      moduleResolution,
      target: "es2022",
      strict: true,
      noEmit: true,
      skipLibCheck: false,
    };
    write("tsconfig.json", JSON.stringify({ compilerOptions: { ...compilerOptions, types: ["node"] }, files: [file] }));
    expect(run("npx", "tsc", "-p", ".")).toBe("");
  });

  it("does not show zod in the declarations of the main entry", () => {
    const declarations = readFileSync(join(project, "node_modules/stocklot/dist/index.d.ts"), "utf8");
    expect(declarations).not.toMatch(/from ['"]zod['"]/);
  });

  it("offers the sandbox as a command", () => {
    expect(run("npx", "stocklot-sandbox", "--version").trim()).toMatch(/\d+\.\d+\.\d+/);
  });
});
