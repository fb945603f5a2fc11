import { beforeEach, describe, expect, it, vi } from "vitest";
import { type ClientOptions, NotFoundError, type ResponseInfo, ServerError, TimeoutError } from "../../src/index.js";
import { useLoopTime } from "../support/loop-time.js";
import { envelope, ITEM, LOT } from "../support/records.js";
import { errorOf, QUICK, waitUntil } from "../support/with-server.js";
import { json, service } from "./service.js";

const on = service();

beforeEach(useLoopTime);

function latch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const CLOCKS: ("setTimeout" | "clearTimeout" | "Date" | "performance")[] = [
  "setTimeout",
  "clearTimeout",
  "Date",
  "performance",
];
const busy = () => Response.json({ message: "Rate Limit Exceeded. 100 per Minute" }, { status: 429 });
const failing = (failures: number, status: number) => (_: unknown, count: number) =>
  count <= failures ? Response.json({}, { status }) : Response.json(ITEM);

describe("retry", () => {
  /** Lets the service respond to a read with these in turn, then with the item. Returns the result, and when each attempt was sent. */
  async function read(replies: readonly (() => Response)[], options: ClientOptions = {}) {
    vi.useFakeTimers({ toFake: CLOCKS });
    const times: number[] = [];
    const client = on.client((_, count) => {
      times.push(performance.now());
      return (replies[count - 1] ?? json(ITEM))();
    }, options);
    const result = client.items.get("X").catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(600_000);
    return { result: await result, waits: times.slice(1).map((time, index) => time - (times[index] ?? 0)) };
  }
  const failure = json({}, 503);
  const times = <T>(count: number, one: T) => Array.from({ length: count }, () => one);

  it("comes after a back-off that doubles, with a random share, up to maxDelayMs", async () => {
    const { result, waits } = await read(times(5, failure), { retry: { maxRetries: 5, maxDelayMs: 5_000 } });
    expect(result).toEqual(ITEM);
    expect(waits).toHaveLength(5);
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(Math.min(5_000, 500 * 2 ** index) - 1);
      expect(wait).toBeLessThanOrEqual(Math.min(5_000, 1_000 * 2 ** index) + 2);
    }
  });

  it.each([
    ["three times by default", times(9, failure), {}, 3, 503],
    ["not at all without retries", times(9, failure), { maxRetries: 0 }, 0, 503],
    ["five times after a 429", times(9, busy), {}, 5, 429],
    ["after 429s with a budget of its own", [failure, ...times(5, busy), failure, failure], {}, 8, undefined],
  ])("happens %s", async (_, replies, retry, retries, status) => {
    const { result, waits } = await read(replies, { retry });
    expect(waits).toHaveLength(retries);
    expect(result).toMatchObject(status ? { status } : ITEM);
  });

  it("comes right after the pause of a 429, without a back-off", async () => {
    const { waits } = await read(times(3, busy), { retry: { rateLimitDelayMs: [5, 6] } });
    expect(Math.max(...waits)).toBeLessThan(50);
  });

  it("waits as long as the service requests, at most a minute", async () => {
    const requesting = (seconds: string) => () =>
      Response.json({}, { status: 503, headers: { "retry-after": seconds } });
    const { waits } = await read([requesting("7"), requesting("3600")]);
    expect(waits[0]).toBeGreaterThanOrEqual(7_000);
    expect(waits[1]).toBeGreaterThanOrEqual(60_000);
    expect(waits[1]).toBeLessThan(70_000);
  });

  it("that succeeds in the moment of the abort has succeeded", async () => {
    const controller = new AbortController();
    const hooks = { response: ({ status }: { status: number }) => status === 201 && controller.abort("too late") };
    const client = on.client((_, count) => json({ shortID: "X" }, count === 1 ? 503 : 201)(), { retry: QUICK, hooks });
    expect(await client.items.update("X", { units: 1 }, { signal: controller.signal })).toMatchObject({ shortID: "X" });
    expect(controller.signal.aborted).toBe(true);
  });

  it("settings of the client are overridden by that of the call, option by option", async () => {
    const client = on.client(failing(9, 503), { retry: { ...QUICK, maxRetries: 2 } });
    await expect(client.items.get("X")).rejects.toMatchObject({ attempts: 3 });
    await expect(client.items.get("X", { retry: { maxRetries: 0 } })).rejects.toMatchObject({ attempts: 1 });
    await expect(client.items.get("X", { retry: false })).rejects.toThrow(ServerError);
  });

  it("of any other request is based on its method", async () => {
    const client = on.client(failing(9, 500), { retry: { ...QUICK, maxRetries: 1 } });
    for (const [method, sent] of [
      ["GET", 2],
      ["PUT", 2],
      ["DELETE", 2],
      ["POST", 1],
      ["PATCH", 1],
    ] as const) {
      on.requests.length = 0;
      await client.request({ method, path: "/Orders" }).catch(() => {});
      expect([method, on.requests.length]).toEqual([method, sent]);
    }
  });

  it("waits 30 to 60 s after a 429, and fake timers drive that wait", async () => {
    vi.useFakeTimers({ toFake: CLOCKS });
    const client = on.client((_, count) => (count === 1 ? busy() : Response.json(ITEM)));
    const item = client.items.get("X");
    await waitUntil(() => client.rateLimit.pausedUntil !== null);
    const pauseMs = (client.rateLimit.pausedUntil ?? 0) - Date.now();
    expect(pauseMs).toBeGreaterThanOrEqual(30_000);
    expect(pauseMs).toBeLessThanOrEqual(60_000);
    await vi.advanceTimersByTimeAsync(pauseMs - 1_000);
    expect(on.requests).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_001);
    expect(await item).toEqual(ITEM);
  });
});

describe("timeouts", () => {
  const never = () => new Promise<Response>(() => {});

  it("timeoutMs bounds one attempt", async () => {
    const client = on.client(never, { timeoutMs: 20, retry: { ...QUICK, maxRetries: 1 } });
    const error = await errorOf(client.items.get("X"));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ clock: "timeoutMs", cause: { name: "TimeoutError" } });
    expect(on.requests).toHaveLength(2);
  });

  const failed = json({}, 503);
  it.each([
    ["that of the attempt before, if it waits for the next one", [failed], 60_000, { status: 503 }],
    ["that of the attempt before, if one is under way then", [failed, never], 1, { status: 503 }],
    ["nothing, if there was none", [never], 1, undefined],
  ])("totalTimeoutMs bounds the whole call, and the last failure is %s", async (_, responses, delayMs, cause) => {
    const left = [...responses];
    const client = on.client(() => (left.shift() ?? never)(), { retry: { minDelayMs: delayMs, maxDelayMs: delayMs } });
    const error = await errorOf(client.items.get("X", { totalTimeoutMs: 150 }));
    expect(error).toMatchObject({ name: "TimeoutError", clock: "totalTimeoutMs" });
    if (cause) expect(error).toMatchObject({ cause });
    else expect(error).not.toHaveProperty("cause");
  });
});

describe("priority", () => {
  it("sends writes before reads, and both before further pages", async () => {
    const gate = latch();
    const client = on.client(
      async ({ target }, count) => {
        if (count === 1) await gate.opened;
        return Response.json(target.includes("page=") ? envelope([LOT]) : target === "/Item" ? { shortID: "X" } : ITEM);
      },
      { rateLimit: { maxConcurrent: 1 } },
    );
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    const first = client.items.get("first").then(note("first"));
    await waitUntil(() => on.requests.length === 1);
    const calls = [
      first,
      client.items.get("low", { priority: "low" }).then(note("low")),
      client.inventory.listLots().page().then(note("page")),
      client.items.get("read").then(note("read")),
      client.items.create({ shortID: "X" }).then(note("write")),
      client.items.get("urgent", { priority: "high" }).then(note("urgent")),
    ];
    await waitUntil(() => client.rateLimit.queued === 5);
    gate.open();
    await Promise.all(calls);
    expect(order).toEqual(["first", "write", "urgent", "page", "read", "low"]);
  });

  it("keeps reserved slots free of further pages", async () => {
    const client = on.client(
      ({ target }) => {
        const page = Number(new URLSearchParams(target.split("?")[1]).get("page"));
        return Response.json(
          page
            ? envelope([{ ...LOT, recNo: page }], { page, pageSize: 1, pageCount: 99, totalCount: 99, hasMore: true })
            : ITEM,
        );
      },
      { rateLimit: { requests: 10, intervalMs: 60_000, reserved: 4 } },
    );
    const leave = new AbortController();
    const reading = client.inventory.listLots({ pageSize: 1 }, { signal: leave.signal, readAhead: 9 }).toArray();
    await waitUntil(() => client.rateLimit.queued > 0 && client.rateLimit.inFlight === 0);
    // The first page and four further ones, beside the token; the other slots are reserved.
    expect(on.requests).toHaveLength(5);
    expect(client.rateLimit.available).toBe(4);
    expect(await client.items.get("X")).toEqual(ITEM);
    leave.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});

describe("onResponse", () => {
  it("receives the final response", async () => {
    const infos: ResponseInfo[] = [];
    const client = on.client(
      (_, count) =>
        count === 1 ? Response.json({}, { status: 503 }) : Response.json(ITEM, { headers: { "X-Trace": "7" } }),
      { retry: QUICK },
    );
    await client.items.get("ü", { onResponse: (info) => infos.push(info) });
    expect(infos).toEqual([
      {
        status: 200,
        headers: expect.objectContaining({ "x-trace": "7" }),
        method: "GET",
        path: "/Item",
        attempts: 2,
        durationMs: expect.any(Number),
      },
    ]);
  });

  it("receives an error response too, and may throw", async () => {
    const client = on.client(json({}, 404));
    const onResponse = vi.fn(() => {
      throw new Error("mine");
    });
    await expect(client.items.discontinue("ü", { onResponse })).rejects.toThrow(NotFoundError);
    expect(onResponse).toHaveBeenCalledWith(expect.objectContaining({ status: 404, path: "/Item/%C3%BC" }));
  });
});
