import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type ClientOptions, ConfigurationError, UnexpectedRemovalsError } from "../../src/index.js";
import { createMirror, type MirrorEvent, sqliteSink } from "../../src/mirror/index.js";
import { findSqliteDriver } from "../../src/storage/sqlite/driver.js";
import { MemorySink } from "../support/memory-sink.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";

const OTHER = "https://other.example/api/v1";
const folder = mkdtempSync(join(tmpdir(), "stocklot-service-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function setUp() {
  const service = new ChangingService(seededRandom(7));
  for (let left = 20; left > 0; left -= 1) service.addItem();
  for (let left = 100; left > 0; left -= 1) service.addLot();
  service.advance(3_600_000);
  const sink = new MemorySink();
  const mirrorOf = (options: ClientOptions = {}, onEvent?: (event: MirrorEvent) => void) =>
    createMirror({ client: service.client(options), sink, onEvent });
  await mirrorOf().run();
  const [before, requests] = [sink.state, service.requests.length];
  const expectUnchanged = () => {
    expect(sink.state).toBe(before);
    expect(service.requests).toHaveLength(requests);
  };
  return { service, sink, mirrorOf, expectUnchanged };
}

const failureOf = (call: Promise<unknown>) => call.catch((error: unknown) => error);

describe("a copy belongs to one service", () => {
  it("a client of another one is refused, and changes nothing", async () => {
    const { mirrorOf, expectUnchanged } = await setUp();
    const mirror = mirrorOf({ baseUrl: OTHER });
    for (const call of [() => mirror.run()]) {
      const error = await failureOf(call());
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(String(error)).toContain(`the client to "${OTHER}"`);
    }
    expectUnchanged();
    expect(await mirror.status()).toMatchObject({ complete: true });
  });

  it("takes over the name of its service, which may then move", async () => {
    const { mirrorOf } = await setUp();
    await mirrorOf({ serviceId: "acme" }).run();
    await mirrorOf({ serviceId: "acme", baseUrl: OTHER }).run();
    await expect(mirrorOf().run()).rejects.toThrow('serviceId: "acme"');
  });
});

describe("a copy belongs to one account", () => {
  it("another one is refused unless it is accepted, and then reads everything again", async () => {
    const { service, sink, mirrorOf, expectUnchanged } = await setUp();
    const error = await failureOf(mirrorOf({ clientId: "narrow" }).run());
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(String(error)).toContain('"narrow"');
    expect(String(error)).toContain("acceptAccount: true");
    expectUnchanged();

    service.removeLot();
    const events: MirrorEvent[] = [];
    const mirror = mirrorOf({ clientId: "narrow" }, (event) => events.push(event));
    expect(await mirror.run({ acceptAccount: true })).toMatchObject({ kind: "full", added: 0 });
    expect(events.map(({ type, resource }) => `${type} ${resource}`)).toContain("removed lots");
    expect(sink.all("lots")).toEqual(service.records("lots"));
    expect(await mirror.run()).toMatchObject({ added: 0, changed: 0, removed: 0 });
    await expect(mirrorOf().run()).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("another one that sees far fewer records is refused by the counts after its first pass", async () => {
    const { service, sink, mirrorOf } = await setUp();
    for (let left = 2_000; left > 0; left -= 1) service.addLot();
    service.advance(3_600_000);
    await mirrorOf().run();
    service.hideLots(({ recNo }) => Number(recNo) % 2 === 0);
    const mirror = mirrorOf({ clientId: "narrow" });
    const error = await failureOf(mirror.run({ acceptAccount: true }));
    expect(error).toBeInstanceOf(UnexpectedRemovalsError);
    service.advance(60_000);
    const before = service.requests.length;
    expect(await failureOf(mirror.run())).toMatchObject({ name: "UnexpectedRemovalsError", resource: "lots" });
    const lots = service.requests.slice(before).filter((request) => request.includes("/Inventory?"));
    expect(lots.length).toBeLessThanOrEqual(2);
    await mirror.run({ allowRemovals: true });
    expect(sink.all("lots")).toEqual(service.records("lots"));
  });

  it("is incomplete until everything was read again, whichever run does that", async () => {
    const { service, sink, mirrorOf } = await setUp();
    const mirror = mirrorOf({ clientId: "narrow" });
    service.beforePage = (request) => {
      if (request.includes("/Inventory?")) throw new Error("interrupted");
    };
    await failureOf(mirror.run({ acceptAccount: true }));
    expect(await mirror.status()).toMatchObject({ complete: false });
    service.beforePage = () => {};
    service.removeLot();
    await mirror.run();
    expect(await mirror.status()).toMatchObject({ complete: true });
    expect(sink.all("lots")).toEqual(service.records("lots"));
  });
});

it("status() of a database that is no copy changes nothing in it", async () => {
  const path = join(folder, "other.db");
  const { DatabaseSync } = await findSqliteDriver();
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE mine (a INTEGER); INSERT INTO mine VALUES (1)");
  database.close();
  const before = readFileSync(path);
  const { service } = await setUp();
  const mirror = createMirror({ client: service.client(), sink: sqliteSink({ path }) });
  expect(await mirror.status()).toMatchObject({ complete: false, lastRun: null });
  expect(readFileSync(path)).toEqual(before);
});
