import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMirror, type MirrorKey, type MirrorSink, postgresSink, sqliteSink } from "stocklot/mirror";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findPostgres } from "../support/postgres-server.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";

const postgres = await findPostgres();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stocklot-every-sink-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await postgres?.close();
});

const SINKS: Record<string, () => MirrorSink> = {
  sqlite: () => sqliteSink({ path: join(folder, "copy.db") }),
  ...(postgres && {
    postgres: () => postgresSink({ connectionString: postgres.url, schema: `every_sink_${process.pid}` }),
  }),
};

async function expectCopy(sink: MirrorSink, service: ChangingService): Promise<void> {
  await sink.open();
  for (const resource of ["items", "lots", "stockLevels"] as const) {
    const keys: MirrorKey[] = [];
    for await (const some of sink.keys(resource)) keys.push(...some);
    const key = resource === "lots" ? "recNo" : "partNo";
    const copied = new Map((await sink.read(resource, keys)).map((record) => [Reflect.get(record, key), record]));
    expect(copied, resource).toEqual(service.records(resource));
  }
}

describe.each(Object.keys(SINKS))("a mirror in %s", (name) => {
  const sinkOf = SINKS[name] ?? expect.fail();

  it("follows the service over interruptions and new processes", async () => {
    const random = seededRandom(1);
    const service = new ChangingService(random, { maxPageSize: 50 });
    for (let left = 40; left > 0; left -= 1) service.addItem();
    for (let left = 600; left > 0; left -= 1) service.addLot();
    for (let run = 0; run < 6; run += 1) {
      // Anew each time, as after a start.
      const sink = sinkOf();
      let requests = 0;
      service.beforePage = () => {
        requests += 1;
        if (run % 2 === 0 && requests === 9) throw new Error("cut off");
        service.advance(random(2_000));
        service.addLot();
        service.changeLot();
        if (random(3) === 0) service.removeLot();
      };
      await createMirror({ client: service.client(), sink })
        .run()
        .catch((error) => expect(String(error.cause ?? error)).toContain("cut off"));
      await sink.close();
    }
    service.beforePage = () => {};
    const sink = sinkOf();
    const report = await createMirror({ client: service.client(), sink }).run();
    await expectCopy(sink, service);
    expect(report.resources.lots?.inCopy).toBe(service.records("lots").size);
    await sink.close();
  });
});
