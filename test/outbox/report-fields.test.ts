import { expect, it } from "vitest";
import type { OutboxProgress, OutboxReport, OutboxSummary } from "../../src/outbox/index.js";
import { constantFields } from "../support/constant-fields.js";
import { connectionReset, createWorld, receipt } from "./support/world.js";

it("each field of a report, of a progress and of a summary gets a value", async () => {
  const world = createWorld();
  const outbox = world.createOutbox();
  const reports: OutboxReport[] = [await outbox.run()];
  const summaries: OutboxSummary[] = [await outbox.summary()];
  const progress: OutboxProgress[] = [];
  const run = async () => {
    const onProgress = async (one: OutboxProgress) => {
      progress.push(one);
      summaries.push(await outbox.summary());
    };
    reports.push(await outbox.run({ onProgress }));
  };
  await outbox.add(receipt("dropped"));
  await outbox.cancel("dropped");
  world.onWrite = async (request, send) => {
    const { itemID } = Object(await request.clone().json());
    if (itemID === "WASHER") throw connectionReset();
    return itemID === "NUT" ? Response.json({ statusCode: 400, error: "bad", message: "no" }, { status: 400 }) : send();
  };
  const input = { itemID: "WASHER", units: 1, wid: 3, reasonCode: 1 };
  await outbox.addMany([receipt("good"), receipt("refused", { itemID: "NUT" })]);
  await outbox.add({ key: "lost", operation: "issue", input });
  await run();
  world.onWrite = () => Promise.reject(connectionReset());
  await outbox.addMany([receipt("later"), receipt("last")]);
  await run();
  expect(constantFields(reports)).toEqual([]);
  expect(constantFields(progress)).toEqual([]);
  expect(constantFields(summaries)).toEqual([]);
});
