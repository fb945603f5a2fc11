import { expect, it } from "vitest";
import { createMirror, type MirrorListStatus, type MirrorProgress, type MirrorReport } from "../../src/mirror/index.js";
import { constantFields } from "../support/constant-fields.js";
import { seededRandom } from "../support/random.js";
import { ChangingService } from "./support/changing-service.js";
import { useCopies } from "./support/copies.js";

const { sinks } = await useCopies("fields", { onlySqlite: true });

it("each field of a report, of a progress and of a status gets a value", async () => {
  const service = new ChangingService(seededRandom(6));
  const times = (count: number, act: () => unknown) => Array.from({ length: count }, act);
  times(30, () => service.addItem());
  times(300, () => service.addLot());
  const sink = (sinks.SQLite ?? expect.fail())();
  const mirror = createMirror({ client: service.client(), sink, warehouses: [1], history: { days: 7 } });
  const reports: MirrorReport[] = [];
  const progress: MirrorProgress[] = [];
  const statuses: MirrorListStatus[] = [];
  const run = async (options: Parameters<typeof mirror.run>[0] = {}) => {
    service.advance(3_600_000);
    const onProgress = (one: MirrorProgress) => void progress.push(one);
    await mirror.run({ onProgress, ...options }).then(
      (report) => reports.push(report),
      () => {},
    );
    statuses.push(...(await mirror.status()));
  };
  const stop = new AbortController();
  await run({ signal: stop.signal, onProgress: ({ resource }) => void (resource === "lots" && stop.abort()) });
  await run();
  times(3, () => service.removeLot());
  times(2, () => service.addLot());
  service.changeItem();
  await run({ full: true });
  const hidden = Math.min(...[...service.records("lots").keys()].map(Number));
  service.isUnlisted = ({ recNo }) => recNo === hidden;
  await run();
  await run({ full: true });
  times(100, () => service.removeLot());
  await run({ full: true });
  expect(constantFields(reports)).toEqual([]);
  expect(constantFields(reports.flatMap(({ resources }) => Object.values(resources)))).toEqual([]);
  expect(constantFields(progress)).toEqual([]);
  expect(constantFields(statuses)).toEqual([]);
});
