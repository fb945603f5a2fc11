import { expect, it } from "vitest";
import { connectionReset, createWorld, isWrite, receipt } from "./support/world.js";

it("applies what was added, once", async () => {
  const world = createWorld();
  const outbox = world.createOutbox();
  const entry = await outbox.add(receipt("a"));
  expect(entry).toMatchObject({ key: "a", state: "pending", attempts: 0 });
  await outbox.add(receipt("b", { units: 7 }));
  expect(await outbox.run()).toMatchObject({
    applied: 2,
    rejected: 0,
    unknown: 0,
    pending: 0,
    heldBack: 0,
    requests: 2,
  });
  expect(await outbox.run()).toMatchObject({ applied: 0, requests: 0 });
  expect(await outbox.get("a")).toMatchObject({ state: "applied", attempts: 1, result: { recNo: expect.any(Number) } });
  expect(await world.receivedLots()).toHaveLength(2);
});

it.each([
  ["remark", 1],
  ["serial", 1],
] as const)("finds a lost receipt by its mark (%s)", async (mark, lots) => {
  const world = createWorld();
  const outbox = world.createOutbox({ mark });
  await outbox.add(receipt("a", { remark: "hello" }));
  let lost = 0;
  world.intercept = async (request, send) => {
    const response = await send();
    if (isWrite(request) && lost++ === 0) throw connectionReset();
    return response;
  };
  expect(await outbox.run()).toMatchObject({ applied: 1, unknown: 0, requests: 2 });
  expect(await world.receivedLots()).toHaveLength(lots);
});

it("resends a lost receipt that was not applied", async () => {
  const world = createWorld();
  const outbox = world.createOutbox();
  await outbox.add(receipt("a"));
  let lost = 0;
  world.intercept = async (request, send) => {
    if (isWrite(request) && lost++ === 0) throw connectionReset();
    return send();
  };
  const report = await outbox.run();
  expect(report).toMatchObject({ applied: 1, unknown: 0 });
  expect(await world.receivedLots()).toHaveLength(1);
});
