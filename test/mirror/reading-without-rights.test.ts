import { execFileSync, fork } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { beforeEach, expect, it } from "vitest";
import { InventoryClient } from "../../src/index.js";
import { createMirror, openCopy, sqliteSink } from "../../src/mirror/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { builtProgram } from "../support/built-program.js";
import { ownFolder } from "../support/own-folder.js";

const fileNamed = ownFolder();
chmodSync(fileNamed(), 0o777);
const program = await builtProgram(new URL("./support/read-copy.ts", import.meta.url));
let folders = 0;

/** Only root can become another user. */
beforeEach(({ skip }) => skip(process.getuid?.() !== 0, "only root can read as another user"));

/** A copy in a folder into which only its owner may write. */
async function newCopy(lots: number) {
  const folder = fileNamed(`folder-${folders++}`);
  mkdirSync(folder, { mode: 0o755 });
  const path = `${folder}/stock.db`;
  const { baseUrl, credentials, fetch } = createSandbox({ lots, rateLimit: false });
  const client = new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false });
  const mirror = createMirror({ client, sink: sqliteSink({ path }) });
  await mirror.run();
  chmodSync(path, 0o644);
  return { path, mirror, folder };
}

const readAsNobody = (path: string): unknown =>
  JSON.parse(execFileSync(process.execPath, [program, path], { encoding: "utf8" }));

it("who may read a copy, and write nothing, reads it between runs", async () => {
  const { path, folder } = await newCopy(300);
  expect(readAsNobody(path)).toEqual({ lots: 300, list: "items" });
  expect(readdirSync(folder)).toEqual(["stock.db"]);
});

it("and during runs", async () => {
  const { path } = await newCopy(300);
  const writer = await sqliteSink({ path }).open();
  await writer.query("SELECT 1");
  expect(readAsNobody(path)).toEqual({ lots: 300, list: "items" });
  await writer.close();
});

it.each([
  "has begun",
  "has begun and ended",
])("a run that %s while it is read is an error, never torn rows", async (what) => {
  const { path, mirror } = await newCopy(2_500);
  const reader = fork(program, [path], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  let output = "";
  reader.stdout?.on("data", (data) => {
    output += data;
  });
  const exited = new Promise((resolve) => reader.once("exit", resolve));
  await new Promise((resolve) => reader.once("message", resolve));
  const writer = what === "has begun" ? await sqliteSink({ path }).open() : undefined;
  if (writer) await writer.query("SELECT 1");
  else await mirror.run({ full: true });
  reader.send("go on");
  await exited;
  await writer?.close();
  expect(JSON.parse(output)).toMatchObject({
    name: "StorageError",
    message: expect.stringContaining("was written while it was read"),
  });
  expect(output).not.toContain("stored");
});

it("a failure to read a copy does not speak of writing", async () => {
  const { path } = await newCopy(10);
  chmodSync(path, 0o600);
  const error = readAsNobody(path);
  expect(error).toMatchObject({ name: "StorageError", message: expect.stringContaining("may be read") });
  expect(JSON.stringify(error)).not.toMatch(/stored|written/);
});

it("a reader that stays open reads the copy again after a run", async () => {
  const { path, mirror } = await newCopy(30);
  const copy = await openCopy(sqliteSink({ path }));
  await mirror.run({ full: true });
  let lots = 0;
  for await (const _ of copy.lots()) lots += 1;
  expect(lots).toBe(30);
  await copy.close();
});
