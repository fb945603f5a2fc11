import { Console } from "node:console";
import { Writable } from "node:stream";
import pino from "pino";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { type ClientOptions, type HookEvents, InventoryClient, type Logger } from "../../src/index.js";
import { createSandbox, type SandboxOptions } from "../../src/sandbox/index.js";
import { waitUntil } from "../support/with-server.js";

const SECRET = "a-very-secret-secret";

/** Creates a client of a small sandbox, with short delays. */
function sandboxClient(options: ClientOptions = {}, service: SandboxOptions = {}) {
  const clients = [{ clientId: "acme", clientSecret: SECRET }];
  const sandbox = createSandbox({ items: 3, lots: 10, clients, ...service });
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    clientId: "acme",
    clientSecret: SECRET,
    fetch: sandbox.fetch,
    retry: { minDelayMs: 1, maxDelayMs: 2, rateLimitDelayMs: [1, 2] },
    ...options,
  });
  return { sandbox, client };
}

afterEach(() => void vi.useRealTimers());

type Line = [level: string, message: string];

function memory() {
  const written: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written.push(...String(chunk).trimEnd().split("\n"));
      done();
    },
  });
  return { written, stream };
}

/** Makes a call that logs lines of all kinds: attempts, responses, a token, a retry, a pause and a hook that throws. */
async function call(logger: Logger): Promise<void> {
  const { sandbox, client } = sandboxClient({
    logger,
    hooks: {
      token: () => {
        throw new Error(`%s and 100 %d of {x}, "${SECRET}"`);
      },
    },
  });
  sandbox.addFault({ path: "/Item", times: 1, fault: 503 });
  sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
  await client.items.discontinue("50 %d").catch(() => {});
  await client.items.list().page();
}

const EXPECTED: Line[] = [
  ["debug", "POST /Token (attempt 1)"],
  ["debug", "POST /Token: 200 after N ms"],
  ["error", 'the token hook threw: %s and 100 %d of {x}, "[redacted]"'],
  ["debug", "received a new token, valid until T"],
  ["debug", "DELETE /Item/50%20%25d (attempt 1)"],
  ["debug", "DELETE /Item/50%20%25d: 404 after N ms"],
  ["debug", "GET /Item (attempt 1)"],
  ["debug", "GET /Item: 503 after N ms"],
  ["info", "GET /Item: attempt 1 failed (HTTP 503), it will be retried"],
  ["debug", "GET /Item (attempt 2)"],
  ["debug", "GET /Item: 429 after N ms"],
  ["warn", "GET /Item: 429, all requests pause for 0 s"],
  ["info", "GET /Item: attempt 2 failed (HTTP 429), it will be retried"],
  ["debug", "GET /Item (attempt 3)"],
  ["debug", "GET /Item: 200 after N ms"],
].map(([level = "", message]) => [level, `stocklot: ${message}`]);

const isLoud = ([level]: Line) => level === "warn" || level === "error";

/** Returns a line without the values that differ from run to run. */
const steady = ([level, message]: Line): Line => [
  level,
  message.replace(/after \d+ ms/, "after N ms").replace(/until \S+Z$/, "until T"),
];

it.each([
  ["debug", EXPECTED],
  ["warn", EXPECTED.filter(isLoud)],
])("pino of the level %s writes each of its lines once, in order and unchanged", async (level, expected) => {
  const { written, stream } = memory();
  await call(pino({ level }, stream).child({ module: "stock" }));
  const lines = written.map((line): { level: number; msg: string; module: string } => JSON.parse(line));
  expect(lines.map(({ level, msg }) => steady([pino.levels.labels[level] ?? "", msg]))).toEqual(expected);
  expect(lines.every(({ module }) => module === "stock")).toBe(true);
});

it("the console writes each line once, warnings and errors to stderr", async () => {
  const [out, err] = [memory(), memory()];
  await call(new Console({ stdout: out.stream, stderr: err.stream }));
  const texts = (written: string[]) => written.map((message) => steady(["", message])[1]);
  expect(texts(out.written)).toEqual(EXPECTED.filter((line) => !isLoud(line)).map(([, message]) => message));
  expect(texts(err.written)).toEqual(EXPECTED.filter(isLoud).map(([, message]) => message));
});

/** Returns an array that collects the reasons of unhandled rejections until the test ends. */
function unhandledRejections(): unknown[] {
  const reasons: unknown[] = [];
  const others = process.rawListeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", (reason) => reasons.push(reason));
  onTestFinished(() => {
    process.removeAllListeners("unhandledRejection");
    for (const listener of others) process.on("unhandledRejection", (...event) => listener(...event));
  });
  return reasons;
}

const fails = () => {
  throw new Error("mine");
};
const thenable = (then: (_: unknown, reject: (error: Error) => void) => void) => ({ then });

/** What a callback of a caller may do wrong instead of returning undefined. */
const FAILING: Record<string, () => unknown> = {
  throw: fails,
  "return a promise that rejects": () => Promise.reject(new Error("mine")),
  "return a thenable that rejects": () => thenable((_, reject) => reject(new Error("mine"))),
  "return a thenable that throws": () => thenable(fails),
  "return an object that cannot be read": () => new Proxy({}, { get: fails }),
};

it.each(
  Object.entries(FAILING),
)("hooks, onResponse and loggers receive the events, and change nothing if they %s", async (_, fail) => {
  const unhandled = unhandledRejections();
  const lines: string[] = [];
  const events: [string, object][] = [];
  const log = (line: string) => {
    lines.push(line);
    return fail();
  };
  const hook = (name: string) => (event: object) => {
    events.push([name, event]);
    return fail();
  };
  const names = ["request", "response", "retry", "rateLimited", "token"];
  const { sandbox, client } = sandboxClient({
    logger: { debug: log, info: log, warn: log, error: log },
    hooks: Object.fromEntries(names.map((name) => [name, hook(name)])),
  });
  sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
  sandbox.addFault({ path: "/Item", times: 1, fault: 500 });
  expect(await client.items.list({}, { onResponse: fail }).page()).toMatchObject({ totalCount: 3 });
  const failures = [...names.map((name) => `the ${name} hook`), "onResponse"].map(
    (what) => `stocklot: ${what} threw: mine`,
  );
  await waitUntil(() => failures.every((line) => lines.includes(line)));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(unhandled).toEqual([]);
  const call = { method: "GET", path: "/Item" };
  const token = { method: "POST", path: "/Token", attempt: 1 };
  const durationMs = expect.any(Number);
  expect(events).toEqual([
    ["request", token],
    ["response", { ...token, status: 200, durationMs }],
    ["token", { expiresAt: expect.any(Number) }],
    ["request", { ...call, attempt: 1 }],
    ["response", { ...call, attempt: 1, status: 429, durationMs }],
    ["rateLimited", { ...call, pausedUntil: expect.any(Number), delayMs: expect.any(Number) }],
    ["retry", { ...call, attempt: 2, reason: "HTTP 429" }],
    ["request", { ...call, attempt: 2 }],
    ["response", { ...call, attempt: 2, status: 500, durationMs }],
    ["retry", { ...call, attempt: 3, reason: "HTTP 500" }],
    ["request", { ...call, attempt: 3 }],
    ["response", { ...call, attempt: 3, status: 200, durationMs }],
  ]);
});

/** Creates a client, and collects the waits that its hook and its log lines report. */
function observed(options: ClientOptions) {
  const events: HookEvents["waiting"][] = [];
  const lines: string[] = [];
  const logger = { debug() {}, info: (line: string) => void lines.push(line), warn() {}, error() {} };
  const hooks = { waiting: (event: HookEvents["waiting"]) => void events.push(event) };
  return { ...sandboxClient({ logger, hooks, ...options }, { rateLimit: false }), events, lines };
}

it("a call that has to wait for a slot is reported when it queues, with its place in the queue", async () => {
  vi.useFakeTimers();
  const { client, events, lines } = observed({ rateLimit: { requests: 2, intervalMs: 10_000, reserved: 0 } });
  await client.items.list().page();
  const calls = Promise.all([1, 2, 3, 4].map(() => client.items.list().page()));
  await vi.advanceTimersByTimeAsync(1);
  expect(events).toEqual(
    [10, 10, 20, 20].map((seconds) => ({
      method: "GET",
      path: "/Item",
      reason: "limit",
      expectedMs: expect.closeTo(seconds * 1_000, -2),
    })),
  );
  expect(lines[0]).toMatch(/^stocklot: GET \/Item: waits for a slot of rateLimit, at least 10\.0 s$/);
  await vi.advanceTimersByTimeAsync(30_000);
  await calls;
  expect(events).toHaveLength(4);
});

it("a pause is reported for each call that waits, and for those that come later", async () => {
  vi.useFakeTimers();
  const pause = [45_000, 45_000] as const;
  const { sandbox, client, events, lines } = observed({
    retry: { rateLimitDelayMs: pause },
    rateLimit: { maxConcurrent: 1 },
  });
  await client.items.list().page();
  sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
  const calls = [client.items.list().page(), client.items.list().page()];
  await vi.advanceTimersByTimeAsync(2_000);
  calls.push(client.items.list().page());
  await vi.advanceTimersByTimeAsync(1);
  expect(events.map(({ reason, expectedMs }) => [reason, Math.round(expectedMs / 1_000)])).toEqual([
    ["pause", 45],
    ["pause", 45],
    ["pause", 43],
  ]);
  expect(lines.at(-1)).toMatch(/waits for the end of the pause after a 429, at least 43\.0 s$/);
  await vi.advanceTimersByTimeAsync(60_000);
  await Promise.all(calls);
});
