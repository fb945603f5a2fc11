import { inspect } from "node:util";
import { HttpResponse } from "msw";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Logger, NotFoundError, type ResponseInfo, ServerError, TimeoutError } from "../../src/index.js";
import { useLoopTime } from "../support/loop-time.js";
import { envelope, ITEM, LOT } from "../support/records.js";
import { errorOf, QUICK, waitUntil } from "../support/with-server.js";
import { CREDENTIALS, json, service } from "./service.js";

const on = service();

beforeEach(useLoopTime);

function latch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const busy = () => HttpResponse.json({ message: "Rate Limit Exceeded. 100 per Minute" }, { status: 429 });
const failing = (failures: number, status: number) => (_: unknown, count: number) =>
  count <= failures ? HttpResponse.json({}, { status }) : HttpResponse.json(ITEM);

describe("retry", () => {
  it("retries a read three times by default", async () => {
    const client = on.client(failing(3, 503), { retry: QUICK });
    expect(await client.items.get("X")).toEqual(ITEM);
    await expect(on.client(failing(9, 503), { retry: QUICK }).items.get("X")).rejects.toMatchObject({ attempts: 4 });
  });

  it("of the client is overridden by that of the call, option by option", async () => {
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
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    const client = on.client((_, count) => (count === 1 ? busy() : HttpResponse.json(ITEM)));
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
        return HttpResponse.json(
          target.includes("page=") ? envelope([LOT]) : target === "/Item" ? { shortID: "X" } : ITEM,
        );
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
        return HttpResponse.json(
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
        count === 1 ? HttpResponse.json({}, { status: 503 }) : HttpResponse.json(ITEM, { headers: { "X-Trace": "7" } }),
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

it("hooks and logger receive the events, and what they throw changes nothing", async () => {
  const lines: string[] = [];
  const events: [string, unknown][] = [];
  const log = (line: string) => {
    lines.push(line);
    throw new Error("mine");
  };
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const hook = (name: string) => (event: unknown) => {
    events.push([name, event]);
    throw new Error("mine");
  };
  const client = on.client(
    (_, count) =>
      count === 1 ? busy() : count === 2 ? HttpResponse.json({}, { status: 500 }) : HttpResponse.json(ITEM),
    {
      retry: QUICK,
      logger,
      hooks: {
        request: hook("request"),
        response: hook("response"),
        retry: hook("retry"),
        rateLimited: hook("rateLimited"),
        token: hook("token"),
      },
    },
  );
  expect(await client.items.get("X")).toEqual(ITEM);
  expect(events.map(([name]) => name)).toEqual([
    ...["request", "response", "token"],
    ...["request", "response", "rateLimited", "retry"],
    ...["request", "response", "retry"],
    ...["request", "response"],
  ]);
  expect(events.at(3)?.[1]).toEqual({ method: "GET", path: "/Item", attempt: 1 });
  expect(events.at(4)?.[1]).toMatchObject({ status: 429, attempt: 1, durationMs: expect.any(Number) });
  expect(events.at(5)?.[1]).toMatchObject({ pausedUntil: expect.any(Number), delayMs: expect.any(Number) });
  expect(events.at(9)?.[1]).toMatchObject({ attempt: 3, reason: "HTTP 500" });
  expect(lines.join("\n")).toMatch(/429, all requests pause/);
  expect(inspect([lines, events], { depth: 9 })).not.toMatch(new RegExp(`${CREDENTIALS.clientSecret}|token-1`));
});
