import { writeFileSync } from "node:fs";
import { Client } from "pg";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { findPostgres } from "../support/postgres-server.js";
import { commandFiles, run, serve } from "./support/run-command.js";

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

it.skipIf(!postgres)("two people import one delivery into one PostgreSQL outbox: it is sent once", async () => {
  const admin = new Client({ connectionString: postgres?.url });
  await admin.connect();
  onTestFinished(() => admin.end());
  const name = `command_${process.pid}`;
  await admin.query(`CREATE DATABASE ${name}`);
  onTestFinished(async () => void (await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)));
  const urlOf = (user: string) => {
    const url = new URL(postgres?.url ?? "");
    url.username = user;
    url.pathname = `/${name}`;
    return url.href;
  };
  const owner = new Client({ connectionString: urlOf("postgres") });
  await owner.connect();
  onTestFinished(() => owner.end());
  await admin.query(`CREATE ROLE ${name}_alice LOGIN; CREATE ROLE ${name}_bob LOGIN`);
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
