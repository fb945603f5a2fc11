import { afterEach, describe, expect, it, vi } from "vitest";
import { TIMES } from "../../src/mcp/parts.js";
import { createSandbox, type FaultRule } from "../../src/sandbox/index.js";
import { type Assistant, type accepts, assistant, REVISIONS, type Setting } from "./support/assistant.js";
import { usePlaces } from "./support/places.js";

const { newPlace } = await usePlaces();
afterEach(() => void vi.useRealTimers());

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Options of a call that waits for a day. */
const PATIENT = { timeout: 24 * 60 * MINUTE };
const INPUT = { itemID: "BOLT-M8", units: 5, wid: 1, reasonCode: 1, remark: "from the truck" };
const BOOKING = { key: "asn-1", operation: "receive", input: INPUT };

/** Starts an assistant in virtual time. Its server waits as long as `stocklot mcp` does. */
async function inVirtualTime(faults: FaultRule[], setting: Setting = {}) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] });
  const sandbox = createSandbox({ rateLimit: false, faults });
  return assistant({ sandbox, settleMs: 2 * 60 * MINUTE, ...setting, room: { times: TIMES, ...setting.room } });
}

/** Returns how long a call takes, in ms of virtual time. */
async function lengthOf(call: Promise<unknown>, stepMs = 100): Promise<number> {
  const beganAt = performance.now();
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  call.then(done, done);
  while (!isDone && performance.now() - beganAt < 60 * MINUTE) {
    await vi.advanceTimersByTimeAsync(stepMs);
    // Lets everything run that waits for no timer.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return performance.now() - beganAt;
}

const receiptsOf = ({ sandbox }: Assistant) => sandbox.requests.filter(({ path }) => path === "/Inventory/Receive");

describe.each(REVISIONS)("the real lengths, revision %s", (revision) => {
  it("a wait is reported every ten seconds, and ends after a minute", async () => {
    const { tools } = await inVirtualTime([{ path: "/Inventory*", fault: "hang" }], { revision });
    const beganAt = performance.now();
    const reports: number[] = [];
    const onprogress = () => void reports.push(Math.round((performance.now() - beganAt) / SECOND));
    const call = tools("get_lots", { sku: "BOLT-M8" }, { ...PATIENT, onprogress });
    const length = await lengthOf(call);
    const { isError, text } = await call;
    expect([isError, text]).toEqual([true, expect.stringMatching(/longer than a minute[\s\S]*Applied: no\./)]);
    expect(length).toBeGreaterThanOrEqual(MINUTE);
    expect(length).toBeLessThan(MINUTE + SECOND);
    expect(reports).toEqual([10, 20, 30, 40, 50]);
  });

  it.each([
    ["counts", 9.9, 1],
    ["counts for nothing", 10.1, 0],
  ])("an answer %s after %d minutes", async (_, minutes, receipts) => {
    const person = () =>
      new Promise<Awaited<ReturnType<typeof accepts>>>((resolve) => {
        setTimeout(() => resolve({ action: "accept", content: {} }), minutes * MINUTE);
      });
    const one = await inVirtualTime([], { revision, person, outbox: await newPlace() });
    const call = one.tools("book", BOOKING, PATIENT);
    await lengthOf(call, SECOND);
    const { isError, text } = await call;
    expect([isError, text.includes("Applied: no.")]).toEqual([receipts === 0, receipts === 0]);
    expect(receiptsOf(one)).toHaveLength(receipts);
  });

  it("what could not be sent within ten minutes is never sent", async () => {
    const fault = { type: "status", status: 429, headers: { "retry-after": "140" } } as const;
    const one = await inVirtualTime([{ path: "/Inventory/Receive", fault }], {
      ...{ revision, outbox: await newPlace(), room: { confirms: false } },
    });
    const call = one.tools("book", BOOKING, PATIENT);
    const length = await lengthOf(call, SECOND);
    expect((await call).value).toMatchObject({ outcome: "added", entry: { state: "canceled" } });
    expect(length).toBeGreaterThan(9 * MINUTE);
    expect(length).toBeLessThan(10 * MINUTE + 5 * SECOND);
    const sent = receiptsOf(one).length;
    expect(sent).toBe(5);
    one.sandbox.clearFaults();
    await vi.advanceTimersByTimeAsync(30 * MINUTE);
    await one.outbox?.run();
    expect(receiptsOf(one)).toHaveLength(sent);
  });
});

describe.each(REVISIONS)("a client that ends a call after 60 s, as official ones do, revision %s", (revision) => {
  const EXTENDED = { onprogress: () => {}, resetTimeoutOnProgress: true };
  const PAUSE: FaultRule = {
    ...{ path: "/*", times: 1, skip: 1 },
    fault: { type: "status", status: 429, headers: { "retry-after": "100" } },
  };
  const isTimeout = expect.objectContaining({ message: expect.stringContaining("timed out") });

  it("learns after a minute that the service is busy only if progress extends its limit", async () => {
    const { tools } = await inVirtualTime([{ path: "/Inventory*", fault: "hang" }], { revision });
    for (const options of [{}, EXTENDED]) {
      const call = tools("get_lots", { sku: "BOLT-M8" }, options).catch((error: unknown) => error);
      await lengthOf(call);
      const longer = expect.objectContaining({ isError: true, text: expect.stringContaining("longer than a minute") });
      expect(await call).toEqual(options === EXTENDED ? longer : isTimeout);
    }
  });

  it("has a plan that takes longer only if progress extends its limit", async () => {
    for (const options of [{}, EXTENDED]) {
      const savePlan = vi.fn(async () => "plan.json");
      const { tools } = await inVirtualTime([PAUSE], { revision, room: { savePlan } });
      const rows = [{ shortID: "BOLT-M8", description: "Bolt" }];
      const call = tools("plan_catalog", { rows }, options).catch((error: unknown) => error);
      const length = await lengthOf(call);
      const planned = expect.objectContaining({ value: expect.objectContaining({ file: "plan.json" }) });
      expect(await call).toEqual(options === EXTENDED ? planned : isTimeout);
      expect(length).toBeGreaterThan(59 * SECOND);
      await vi.advanceTimersByTimeAsync(5 * MINUTE);
      expect(savePlan).toHaveBeenCalledTimes(options === EXTENDED ? 1 : 0);
    }
  });

  it("books what a person accepts later only if the question is no part of the call, or progress extends its limit", async () => {
    for (const options of [{}, EXTENDED]) {
      const person = () =>
        new Promise<Awaited<ReturnType<typeof accepts>>>((resolve) => {
          setTimeout(() => resolve({ action: "accept", content: {} }), 61 * SECOND);
        });
      const one = await inVirtualTime([], { revision, person, outbox: await newPlace() });
      const call = one.tools("book", BOOKING, options).catch((error: unknown) => error);
      await lengthOf(call);
      await lengthOf(new Promise((resolve) => setTimeout(resolve, MINUTE)));
      const counts = options === EXTENDED || revision === "2026-07-28";
      const added = expect.objectContaining({ value: expect.objectContaining({ outcome: "added" }) });
      expect(await call).toEqual(counts ? added : isTimeout);
      expect(receiptsOf(one)).toHaveLength(counts ? 1 : 0);
      expect((await one.outbox?.get("asn-1"))?.state).toBe(counts ? "applied" : undefined);
    }
  });
});

it("what is sending is looked at every two seconds", async () => {
  const faults: FaultRule[] = [{ path: "/Inventory/Receive", times: 1, fault: "drop-after" }];
  const one = await inVirtualTime(faults, { outbox: await newPlace(), settleMs: 1_900, room: { confirms: false } });
  const call = one.tools("book", BOOKING, PATIENT);
  const { outbox } = one;
  expect(await lengthOf(call)).toBeLessThan(2 * SECOND);
  expect((await call).value).toMatchObject({ entry: { state: "sending" } });
  const settled = async () => {
    while ((await outbox?.get("asn-1"))?.state !== "applied") await new Promise((done) => setTimeout(done, 100));
  };
  const length = await lengthOf(settled());
  // The first look-up finds the write open, the second one finds it settled.
  expect(length).toBeGreaterThan(2 * SECOND);
  expect(length).toBeLessThan(6 * SECOND);
});
