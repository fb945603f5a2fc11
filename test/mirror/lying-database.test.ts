import { afterAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { ConfigurationError, InventoryClient, StorageError } from "../../src/index.js";
import { createMirror, openCopy, postgresSink } from "../../src/mirror/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { brokenNetwork } from "../storage/support/broken-network.js";
import { countCommands, randomLie } from "../storage/support/lies.js";
import { findPostgres, openPool } from "../support/postgres-server.js";
import { seededRandom } from "../support/random.js";
import { worlds } from "../support/runs.js";
import { sleep } from "../support/with-server.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());
const connectionString = postgres?.url ?? "";
const admin = openPool({ connectionString, max: 1 });
afterAll(() => admin.end());

const LOTS = 600;
const NEVER_ENDS = new Error("it does not end");
const STOP = new Error("stop");

const endOf = (promise: Promise<unknown>, limitMs: number): Promise<unknown> =>
  Promise.race([promise.catch((error: unknown) => error), sleep(limitMs).then(() => NEVER_ENDS)]);

beforeEach(({ skip }) => skip(!postgres, "there is no PostgreSQL"));

it.each(
  Array.from({ length: worlds(160) }, (_, seed) => seed),
)("a mirror makes no wrong copy without an error, and retries nothing for ever, if its database lies: world %d", async (seed) => {
  const random = seededRandom(seed + 10_000);
  const schema = `copies_${process.pid}_${seed}`;
  const network = await brokenNetwork(connectionString);
  onTestFinished(network.close);
  const { baseUrl, credentials, fetch } = createSandbox({ items: 50, lots: LOTS, rateLimit: false });
  let onPage = async () => {};
  const client = new InventoryClient({
    ...{ baseUrl, ...credentials, rateLimit: false },
    fetch: async (...given) => {
      await onPage();
      return fetch(...given);
    },
  });
  const resources = ["items", "lots"] as const;
  const history = random(2) === 0 ? { days: 1 } : undefined;
  const owner = createMirror({ client, sink: postgresSink({ connectionString, schema }), resources, history });
  const ownRun = () => owner.run({ full: true });
  // The copy exists. In half of the worlds it is complete.
  const isComplete = random(2) === 0;
  if (isComplete) await ownRun();
  else
    await createMirror({
      client,
      sink: postgresSink({ connectionString, schema }),
      resources: ["items"],
      history,
    }).run();

  const role = schema;
  await admin.query(`CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
  // Only owners may create indexes.
  for (const table of ["items", "lots"]) {
    await admin.query(
      `ALTER TABLE ${schema}.${table} OWNER TO ${role}; ALTER TABLE ${schema}.${table} FORCE ROW LEVEL SECURITY`,
    );
  }
  await admin.query(`GRANT CREATE ON SCHEMA ${schema} TO ${role}`);
  const url = new URL(network.url);
  url.username = role;
  const pool = openPool({ connectionString: url.href, max: 5 });
  onTestFinished(() => pool.end());
  const commands = countCommands(pool);
  const sink = postgresSink({ pool, schema });
  const mirror = createMirror({ client, sink, resources, history });
  if (isComplete) await admin.query(`DELETE FROM ${schema}.lots WHERE "recNo" % ${2 + random(5)} = 0`);

  const lie = randomLie(seed, {
    random,
    url: connectionString,
    schema,
    tables: [
      ["lots", "units"],
      ["items", "description"],
      ["mirror_status", "asOf"],
      ["stocklot_mirror", "version"],
    ],
    role,
    network,
  });
  let begun: Promise<unknown> | undefined;
  let pages = random(4);
  onPage = async () => {
    if (pages-- > 0) return;
    begun ??= lie.begin();
    await begun;
  };
  if (random(2) === 0) begun = lie.begin();
  await begun;
  const stop = new AbortController();
  const lotsIn = async () =>
    (await admin.query(`SELECT count(*)::int AS lots, sum(units)::text AS units FROM ${schema}.lots`)).rows[0];
  const reading = async () => {
    const copy = await openCopy(sink);
    try {
      let lots = 0;
      for await (const _ of copy.lots()) lots += 1;
      await copy.status();
      return lots;
    } finally {
      await copy.close();
    }
  };
  const startedAt = performance.now();
  const run = mirror.run({ full: true, signal: stop.signal });
  const read = reading();
  for (const promise of [run, read]) promise.catch(() => {});
  if (lie.stalls) {
    await Promise.race([run.catch(() => {}), sleep(random(1_500))]);
    stop.abort(STOP);
  }
  const ends = [await endOf(run, lie.stalls ? 2_500 : 20_000)];
  onPage = async () => {};
  await (begun ?? lie.begin());
  const before = await lotsIn();
  // A reader has no signal. It ends when the lie ends, or by its own limits.
  if (lie.stalls) await lie.end();
  ends.push(await endOf(read, 40_000), await endOf(reading(), 40_000));
  const seconds = (performance.now() - startedAt) / 1_000;
  expect([lie.name, ends.indexOf(NEVER_ENDS)]).toEqual([lie.name, -1]);
  const sent = commands();
  expect([lie.name, sent < 600 + 100 * seconds || sent]).toEqual([lie.name, true]);
  const [ran, ...reads] = ends;
  for (const end of ends) {
    if (!(end instanceof Error) || end === STOP || end instanceof ConfigurationError) continue;
    expect(end).toBeInstanceOf(StorageError);
    if (lie.isAboutRights) expect(String(end)).toMatch(/(SELECT|INSERT|UPDATE|DELETE)/);
    if (lie.table && !lie.stalls) expect(String(end)).toContain(lie.table);
  }
  if (!lie.stalls) await lie.end();
  // After a run without an error, the copy is complete, and so is what the second reader sees.
  if (!(ran instanceof Error)) {
    expect([lie.name, before.lots]).toEqual([lie.name, LOTS]);
    if (!(reads[1] instanceof Error)) expect([lie.name, reads[1]]).toEqual([lie.name, LOTS]);
  }
  if (!(reads[1] instanceof Error)) expect([lie.name, reads[1]]).toEqual([lie.name, (await lotsIn()).lots]);
  const isRun = !(ran instanceof Error);
  const copied = await lotsIn();
  await ownRun();
  if (isRun) expect([lie.name, copied]).toEqual([lie.name, await lotsIn()]);
  expect((await lotsIn()).lots).toBe(LOTS);
  await admin.query(`DROP SCHEMA ${schema} CASCADE; DROP OWNED BY ${role}; DROP ROLE ${role}`);
});
