import { writeFileSync } from "node:fs";
import { Client } from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { findPostgres, newDatabase } from "../support/postgres-server.js";
import { commandFiles, type Ended, run, runProcess, serve } from "./support/run-command.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());
const fileNamed = commandFiles();

const delivery = () => {
  const file = fileNamed("delivery.csv");
  writeFileSync(file, "itemID,units,wid,reasonCode\nA,50,1,1\nA,70,1,1\n");
  return file;
};

it.each([
  ":memory:",
  "file:x.db?mode=memory",
])("an outbox or a copy %s is wrong use, and nothing is sent", async (path) => {
  const { sandbox, env } = await serve({ items: [{ shortID: "A" }], lots: [] });
  for (const args of [
    ["import", delivery(), "--operation", "receive", "--outbox", path],
    ["outbox", "summary", path],
    ["outbox", "run", path],
    ["mirror", "--sqlite", path],
    ["mirror", "--sqlite", path, "--status", "--max-lag", "1h"],
  ])
    expect([args, await run(args, env)]).toMatchObject([args, { code: 2 }]);
  expect(sandbox.requests.filter(({ path: of }) => of !== "/Token")).toEqual([]);
});

describe.each(["SQLite", ...(postgres ? ["PostgreSQL"] : [])])("two imports at the same time, with %s", (kind) => {
  const HEADER = "id,itemID,units,wid,reasonCode\n";
  const OPTIONS = ["--operation", "receive", "--settle", "30s"];

  it.each([
    ["of two versions of one delivery", ["--delivery", "day", "--ignore", "id"], "\n\n\n", ["1", "2"], ["1", "2"]],
    ["of keys that differ in notation", ["--key", "id"], "", ["0017", "12E3"], ["17", "12000"]],
    ["of one delivery by its lines and by its keys", ["--delivery", "day"], "", ["1", "2"], ["1", "2"]],
  ])("store the lines of one of them: %s", async (name, options, before, first, second) => {
    const { sandbox, env } = await serve({ items: [{ shortID: "A" }], lots: [] });
    for (let times = 0; times < 3; times += 1) {
      const place = `${name.replaceAll(" ", "_")}_${times}`;
      const outbox = kind === "SQLite" ? fileNamed(`${place}.db`) : await newDatabase(postgres);
      const send = (ids: string[], start: string, ...more: string[]): Promise<Ended> => {
        const lines = ids.map((id) => `${id},A,5,1,1\n`).join("");
        const file = fileNamed(`${kind}-${place}-${ids[0]}-${start.length}-${more.length}.csv`, HEADER + start + lines);
        return runProcess(["import", file, "--outbox", outbox, ...OPTIONS, ...options, ...more], env);
      };
      const booked = sandbox.requests.length;
      const more = name.endsWith("keys")
        ? [
            ["--ignore", "id"],
            ["--key", "id"],
          ]
        : [[], []];
      const ended = await Promise.all([send(first, "", ...(more[0] ?? [])), send(second, before, ...(more[1] ?? []))]);
      expect(ended.map(({ code }) => code).sort()).toEqual([0, 2]);
      const receipts = sandbox.requests.slice(booked).filter(({ path }) => path === "/Inventory/Receive");
      expect(receipts).toHaveLength(2);
    }
  });
});

it.skipIf(!postgres)("two people import one delivery into one PostgreSQL outbox: it is sent once", async () => {
  const name = `command_${process.pid}`;
  const address = await newDatabase(postgres);
  const urlOf = (user: string) => Object.assign(new URL(address), { username: user }).href;
  const owner = new Client({ connectionString: urlOf("postgres") });
  await owner.connect();
  onTestFinished(() => owner.end());
  await owner.query(`CREATE ROLE ${name}_alice LOGIN; CREATE ROLE ${name}_bob LOGIN`);
  // Bob has a schema of his name, which the search_path finds first.
  await owner.query(
    `CREATE SCHEMA stocklot AUTHORIZATION ${name}_alice; CREATE SCHEMA ${name}_bob AUTHORIZATION ${name}_bob`,
  );
  const { sandbox, env } = await serve({ items: [{ shortID: "A" }], lots: [] });
  const file = delivery();
  const importAs = (user: string) =>
    run(["import", file, "--operation", "receive", "--outbox", urlOf(`${name}_${user}`)], env);
  expect(await importAs("alice")).toMatchObject({ code: 0 });
  const refused = await importAs("bob");
  expect(refused.code).not.toBe(0);
  expect(refused.err.replace(/\s+/g, " ")).toContain(`GRANT USAGE ON SCHEMA "stocklot" TO "${name}_bob"`);
  await owner.query(`GRANT USAGE ON SCHEMA stocklot TO ${name}_bob;
    GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA stocklot TO ${name}_bob`);
  expect(await importAs("bob")).toMatchObject({ code: 3 });
  expect(sandbox.requests.filter(({ path, status }) => path.includes("Receive") && status === 201)).toHaveLength(2);
});
