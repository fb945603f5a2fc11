import { Client } from "pg";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ConfigurationError, InventoryClient, StorageError } from "../../src/index.js";
import { createMirror, type MirrorSink, openCopy, postgresSink, sqliteSink } from "../../src/mirror/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { openSqlite } from "../../src/storage/sqlite.js";
import { brokenNetwork } from "../storage/support/broken-network.js";
import { ownFolder } from "../support/own-folder.js";
import { findPostgres, openPool } from "../support/postgres-server.js";
import { sleep } from "../support/with-server.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());
const connectionString = postgres?.url ?? "";
const fileNamed = ownFolder();
let names = 0;
const newName = () => `refusals_${process.pid}_${names++}`;

function clientOf(delayMs = 0) {
  const { baseUrl, credentials, fetch } = createSandbox({ lots: 300, rateLimit: false });
  const slow: typeof fetch = async (...given) => {
    if (delayMs > 0) await sleep(delayMs);
    return fetch(...given);
  };
  return new InventoryClient({ baseUrl, ...credentials, fetch: slow, rateLimit: false });
}

const mirrorOf = (sink: MirrorSink) => createMirror({ client: clientOf(), sink });

it.each([":memory:", "file:x.db?mode=memory"])("a copy in SQLite is a file, not %s", (path) => {
  expect(() => sqliteSink({ path })).toThrow(ConfigurationError);
});

/** Obstacles that make a run wait. `begin` puts the obstacle in place once the copy exists. */
const OBSTACLES: [string, () => Promise<{ sink: MirrorSink; begin(): Promise<unknown> }>][] = [
  [
    "a locked SQLite file",
    async () => {
      const path = fileNamed(`${names++}.db`);
      const begin = async () => {
        const other = await openSqlite({ path });
        const held = other.transaction(async (query) => {
          await query("SELECT 1");
          await sleep(4_000);
        });
        onTestFinished(() => held.then(() => other.close()));
      };
      return { sink: sqliteSink({ path }), begin };
    },
  ],
  [
    "a locked PostgreSQL table",
    async () => {
      const schema = newName();
      const begin = async () => {
        const other = new Client({ connectionString });
        await other.connect();
        onTestFinished(() => other.end());
        await other.query(`BEGIN; LOCK TABLE ${schema}.lots, ${schema}.stocklot_mirror`);
      };
      return { sink: postgresSink({ connectionString, schema }), begin };
    },
  ],
  [
    "a silent PostgreSQL connection",
    async () => {
      const network = await brokenNetwork(connectionString);
      onTestFinished(network.close);
      const sink = postgresSink({ connectionString: network.url, schema: newName() });
      return { sink, begin: async () => network.silence() };
    },
  ],
];

describe.each(OBSTACLES)("a run that waits for %s", (name, createObstacle) => {
  beforeEach(({ skip }) => skip(name.includes("PostgreSQL") && !postgres, "there is no PostgreSQL"));

  it.each(["before it begins", "while it reads"])("ends within two seconds of its signal's abort: %s", async (when) => {
    const { sink, begin } = await createObstacle();
    await mirrorOf(sink).run();
    const end = new AbortController();
    if (when === "before it begins") await begin();
    let hasBegun = false;
    const onProgress = async () => {
      if (when === "while it reads" && !hasBegun) await begin();
      hasBegun = true;
    };
    const run = createMirror({ client: clientOf(), sink }).run({ full: true, signal: end.signal, onProgress });
    const ended = run.then(
      () => undefined,
      (error: unknown) => error,
    );
    await sleep(800);
    const reason = new Error("stop");
    end.abort(reason);
    const abortedAt = performance.now();
    expect(await ended).toBe(reason);
    expect(performance.now() - abortedAt).toBeLessThan(2_500);
  });
});

it.each([
  "a slow service",
  "a callback that never ends",
])("a run that waits for %s ends with its signal", async (what) => {
  const isSlow = what === "a slow service";
  const sink = sqliteSink({ path: fileNamed(`${names++}.db`) });
  const mirror = createMirror({ client: clientOf(isSlow ? 60_000 : 0), sink });
  const end = new AbortController();
  const run = mirror.run({
    signal: end.signal,
    onProgress: () => (isSlow ? undefined : new Promise(() => {})),
  });
  run.catch(() => {});
  await sleep(500);
  const abortedAt = performance.now();
  end.abort(new Error("stop"));
  await expect(run).rejects.toThrow("stop");
  expect(performance.now() - abortedAt).toBeLessThan(2_000);
});

describe("a copy in PostgreSQL", () => {
  beforeEach(({ skip }) => skip(!postgres, "there is no PostgreSQL"));

  const admin = openPool({ connectionString, max: 1 });
  afterAll(() => admin.end());

  const readers = async (schema: string) => {
    const role = newName();
    await admin.query(`CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA ${schema} TO ${role};
      GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    const url = new URL(connectionString);
    url.username = role;
    return url.href;
  };

  const read = async (url: string, schema: string) => {
    const copy = await openCopy(postgresSink({ connectionString: url, schema }));
    try {
      let lots = 0;
      for await (const _ of copy.lots()) lots += 1;
      return { lots, status: await copy.status() };
    } finally {
      await copy.close();
    }
  };

  it("is in the schema stocklot", async () => {
    const name = newName();
    await admin.query(`CREATE DATABASE ${name}`);
    onTestFinished(async () => void (await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)));
    const url = new URL(connectionString);
    url.pathname = `/${name}`;
    await mirrorOf(postgresSink({ connectionString: url.href })).run();
    expect((await read(url.href, "stocklot")).lots).toBe(300);
    url.searchParams.set("options", "-c search_path=tenant");
    await expect(openCopy(postgresSink({ connectionString: url.href }))).rejects.toThrow(ConfigurationError);
  });

  it.each([
    ["lots", "", ""],
    ["lots", 'CREATE POLICY p ON $ FOR SELECT USING ("wID" = 1)', ""],
    ["mirror_status", "", ""],
    ["stocklot_mirror", "", ""],
    ["lots", "", "REVOKE SELECT"],
  ])("of which the rows of %s are hidden (%s%s) is never read as empty or short", async (table, policy, revoke) => {
    const schema = newName();
    await mirrorOf(postgresSink({ connectionString, schema })).run();
    const url = await readers(schema);
    expect((await read(url, schema)).lots).toBe(300);
    const name = `${schema}.${table}`;
    if (revoke) await admin.query(`${revoke} ON ${name} FROM ${new URL(url).username}`);
    else await admin.query(`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY; ${policy.replace("$", name)}`);
    const error: unknown = await read(url, schema).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(StorageError);
    expect(String(error)).toContain(table);
    expect(String(error)).toContain("SELECT");
    expect(String(error)).not.toMatch(/stored|written|write/);
  });

  it.each([
    ["lots", "BEFORE", "INSERT", "RETURN NULL"],
    ["lots", "BEFORE", "INSERT", 'IF NEW."wID" = 1 THEN RETURN NULL; END IF; RETURN NEW'],
    ["lots", "BEFORE", "INSERT", "NEW.units := 0; RETURN NEW"],
    ["lots", "AFTER", "INSERT", 'DELETE FROM $.lots WHERE "recNo" = NEW."recNo"; RETURN NULL'],
    ["stocklot_mirror", "BEFORE", "UPDATE", "RETURN NULL"],
    ["stocklot_mirror", "AFTER", "UPDATE", "UPDATE $.stocklot_mirror SET version = 0 WHERE version > 0; RETURN NULL"],
    ["mirror_status", "BEFORE", "INSERT", "RETURN NULL"],
    ["mirror_status", "BEFORE", "DELETE", "RETURN NULL"],
    ["mirror_status", "AFTER", "INSERT", `UPDATE $.mirror_status SET "asOf" = '2030-01-01'; RETURN NULL`],
  ])("is not written short by a trigger on %s, %s %s: %s", async (table, time, event, body) => {
    const schema = newName();
    const sink = postgresSink({ connectionString, schema });
    await createMirror({ client: clientOf(), sink, resources: ["items"] }).run();
    const code = body.replaceAll("$", schema);
    await admin.query(`CREATE FUNCTION ${schema}.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${code}; END $$;
      CREATE TRIGGER t ${time} ${event} ON ${schema}.${table} FOR EACH ROW EXECUTE FUNCTION ${schema}.f()`);
    const error: unknown = await mirrorOf(sink)
      .run({ full: true })
      .catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(StorageError);
    expect(String(error)).toMatch(new RegExp(`${event}.*"${table}"`));
  });
});
