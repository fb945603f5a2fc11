import { describe, expect, it } from "vitest";
import { type ClientOptions, OutcomeUnknownError, StocklotError } from "../../src/index.js";
import { type FaultServer, isToken } from "../support/fault-server.js";
import { checkFaultTable, type Row } from "../support/fault-table.js";
import * as faults from "../support/faults.js";
import { useLoopTime } from "../support/loop-time.js";
import { isCorrect, reportedEffect } from "../support/reported-effect.js";
import { RULED_STATUSES } from "../support/ruled-statuses.js";
import { RUN_ALL } from "../support/runs.js";
import { connect, startServer, TRANSPORTS } from "../support/with-server.js";
import { WRITES, type WriteCall } from "../support/writes.js";

const MAX_BYTES = 2_000;
const HANG_MS = 300;

const quick = { minDelayMs: 1, maxDelayMs: 4, maxRateLimitRetries: 2, rateLimitDelayMs: [20, 30] } as const;
const BASE: ClientOptions = {
  retry: quick,
  timeoutMs: 20_000,
  maxResponseBytes: MAX_BYTES,
  rateLimit: { maxConcurrent: 4 },
};

/** The outcome of one kind of write: the error's name, or `ok`. */
type Expected = string;

interface Case {
  name: string;
  /** The name of its row in the table, if it differs from `name`. Faults with the same results share a row. */
  row?: string;
  prepare(server: FaultServer): unknown;
  /** The outcome of `create`, and of the three transactions unless `transaction` is set. */
  create: Expected;
  transaction?: Expected;
  /** The outcome of `update` and `discontinue`. */
  idempotent: Expected;
  options?: ClientOptions;
  /** The outcomes with a fetch function, if it cannot distinguish what a dispatcher can. */
  fetch?: Partial<Pick<Case, "create" | "transaction" | "idempotent">>;
}

const OK = "ok";
const UNKNOWN = "OutcomeUnknownError";
const NOT_JSON = { row: "success with a body that is empty or otherwise not JSON", transaction: OK };
const NO_SUCCESS = { row: "success with HTML, or with the service's own error object" };
const UNREADABLE = { row: "success with a body over `maxResponseBytes`, or that cannot be decompressed" };
const ERROR_OBJECT = JSON.stringify({
  statusCode: 500,
  error: "internal_error",
  message: "Unexpected.",
  details: null,
});
const always = Number.POSITIVE_INFINITY;
const slow: ClientOptions = { timeoutMs: HANG_MS, retry: { ...quick, maxRetries: 1 } };

const TOKEN_FAULTS = [
  ["drops the connection", faults.dropped(), "ConnectionError"],
  ["responds with 500", faults.status(500), "ServerError"],
  ["refuses the credentials", faults.status(403), "AuthenticationError"],
  [
    "responds with something else than a token",
    faults.body('{"token":"none"}', { applies: false }),
    "ResponseValidationError",
  ],
] as const;

type Rest = Partial<Omit<Case, "name" | "create" | "idempotent">> & { times?: number };

/** Creates a case in which requests other than token requests get the fault, once unless `times` is set. */
const faulty = (
  name: string,
  fault: faults.Fault,
  [create, idempotent]: readonly [Expected, Expected],
  rest: Rest = {},
) => {
  const { times = 1, ...others } = rest;
  return { name, create, idempotent, prepare: (server: FaultServer) => server.plan(fault, { times }), ...others };
};

/** Creates two cases of a fault: it happens once, after which an idempotent write succeeds, or always. */
const onceAndAlways = (name: string, fault: faults.Fault, end: Expected, rest: Rest = {}): Case[] => [
  faulty(`${name}, once`, fault, [UNKNOWN, OK], rest),
  faulty(`${name}, always`, fault, [UNKNOWN, end], { ...rest, times: always }),
];

const BROKEN = { row: "connection broken, applied, once" };
const CUT = { row: "success, but the connection breaks within the body, once" };
const DONE = [OK, OK] as const;
const same = (outcome: Expected) => [outcome, outcome] as const;
const INVALID = "ResponseValidationError";

/** The outcomes once a fetch function was called: it does not tell whether it has sent anything. */
const CALLED: Case["fetch"] = { create: UNKNOWN, transaction: UNKNOWN };

const CASES: readonly Case[] = [
  {
    ...faulty("connection refused, then accepted", faults.dropped(), DONE),
    prepare: async (server) => {
      await server.refuseConnections();
      setTimeout(() => void server.listen(), 60);
    },
    options: { retry: { ...quick, maxRetries: 50, minDelayMs: 30, maxDelayMs: 30 } },
    fetch: CALLED,
  },
  faulty("connection refused, always", faults.dropped(), same("ConnectionError"), {
    prepare: (server) => server.refuseConnections(),
    fetch: CALLED,
  }),
  ...onceAndAlways("connection broken before the service reads the request", faults.dropped(), "ConnectionError"),
  faulty("connection closed, applied, once", faults.droppedAfterEffect(), [UNKNOWN, OK], BROKEN),
  faulty("connection broken, applied, always", faults.droppedAfterEffect(), [UNKNOWN, "ConnectionError"], {
    times: always,
  }),
  faulty("connection reset, applied, once", faults.resetAfterEffect(), [UNKNOWN, OK], BROKEN),
  ...[500, 502, 503].flatMap((code): Case[] => {
    const [all, applied] = ["500, 502 or 503", faults.status(code, { applies: true })];
    return [
      faulty(`${code}, not applied, once`, faults.status(code), [UNKNOWN, OK], { row: `${all}, not applied, once` }),
      faulty(`${code}, applied, once`, applied, [UNKNOWN, OK], { row: `${all}, applied, once` }),
      faulty(`${code}, applied, always`, applied, [UNKNOWN, "ServerError"], {
        row: `${all}, applied, always`,
        times: always,
      }),
    ];
  }),
  faulty("501", faults.status(501), same("NotImplementedError"), { times: always }),
  faulty("408, once", faults.status(408), [UNKNOWN, OK]),
  faulty("425", faults.status(425), same("ApiError")),
  faulty("429 without `Retry-After`, once", faults.rateLimited(), DONE, { row: "429, once" }),
  faulty("429 with `Retry-After`, once", faults.rateLimited("0.05"), DONE, { row: "429, once" }),
  faulty("429, always", faults.rateLimited(), same("RateLimitError"), { times: always }),
  faulty("401, once", faults.status(401), DONE),
  faulty("401, always", faults.status(401), same("AuthenticationError"), { times: always }),
  ...TOKEN_FAULTS.map(([name, fault, outcome]) =>
    faulty(`401, and \`POST /Token\` ${name}, always`, fault, same(outcome), {
      prepare: (server) => {
        server.service.revokeTokens();
        server.plan(fault, { on: isToken, times: always });
      },
    }),
  ),
  faulty("no response, not applied, once", faults.hang({ applies: false }), [UNKNOWN, OK], { options: slow }),
  ...onceAndAlways("no response, applied", faults.hang({ applies: true }), "TimeoutError", { options: slow }),
  faulty("no response within `totalTimeoutMs`, applied", faults.hang({ applies: true }), [UNKNOWN, "TimeoutError"], {
    options: { totalTimeoutMs: HANG_MS },
    times: always,
  }),
  faulty("slow body, complete within `timeoutMs`", faults.slowBody(1), DONE),
  faulty("slow body, not complete within `timeoutMs`, once", faults.slowBody(5_000), [UNKNOWN, OK], { options: slow }),
  faulty("body shorter than its `content-length`, once", faults.truncated(), [UNKNOWN, OK], CUT),
  faulty("body that ends between two chunks, once", faults.cutChunks(), [UNKNOWN, OK], CUT),
  faulty("a response that is not HTTP, once", faults.notHttp("SSH-2.0-OpenSSH_9.6\r\n\r\n"), [UNKNOWN, OK]),
  faulty("success with a body that is not JSON", faults.invalidJson(), same(INVALID), NOT_JSON),
  faulty("success with an empty body", faults.emptyBody(), same(INVALID), NOT_JSON),
  faulty("success with HTML", faults.html(), [UNKNOWN, INVALID], NO_SUCCESS),
  faulty("success with the service's own error object", faults.body(ERROR_OBJECT), [UNKNOWN, INVALID], NO_SUCCESS),
  faulty('success with `{"status":"failed"}`', faults.body('{"status":"failed"}'), [UNKNOWN, INVALID], {
    transaction: OK,
  }),
  ...[302, 303].map((code) => {
    const redirect = faults.status(code, { applies: true, headers: { location: "/login" } });
    return faulty(`${code}, applied`, redirect, [UNKNOWN, "ApiError"], { row: "302 or 303, applied" });
  }),
  faulty("success with a body over `maxResponseBytes`", faults.tooLarge(2 * MAX_BYTES), [UNKNOWN, INVALID], UNREADABLE),
  faulty("success with a gzip bomb", faults.gzipBomb(100 * MAX_BYTES), [UNKNOWN, INVALID], UNREADABLE),
  faulty("success with broken gzip", faults.brokenGzip(), [UNKNOWN, INVALID], {
    ...UNREADABLE,
    // fetch itself decompresses the body, and reports broken data like a broken connection.
    fetch: { idempotent: OK },
  }),
];

interface Result {
  outcome: string;
  effects: number;
}

async function play(fault: Case, write: WriteCall, options: ClientOptions): Promise<Result> {
  const server = await startServer();
  const client = connect(server, { ...BASE, ...fault.options, ...options });
  await client.items.get("BOLT");
  await fault.prepare(server);
  const startedAt = Date.now();
  try {
    await write.call(client);
    expect(server.effects(write.name)).toBeGreaterThan(0);
    return { outcome: OK, effects: server.effects(write.name) };
  } catch (error) {
    const effects = server.effects(write.name);
    if (!(error instanceof StocklotError)) throw error;
    expect(isCorrect(reportedEffect(error, write.idempotent), effects), `${error}, ${effects} effects`).toBe(true);
    if (error instanceof OutcomeUnknownError) {
      const { method, path, body } = write;
      expect(error.request).toEqual({
        method,
        path,
        ...(body ? { body } : {}),
        sentAt: expect.any(Number),
        clockAheadMs: expect.any(Number),
      });
      expect(error.request.sentAt).toBeGreaterThanOrEqual(startedAt);
      expect(error.request.sentAt).toBeLessThanOrEqual(Date.now());
      expect(error.cause).toBeInstanceOf(StocklotError);
      expect(error.message).toContain("the outcome is unknown");
    }
    return { outcome: error.name, effects };
  }
}

const expectedOf = (expected: Pick<Case, "create" | "transaction" | "idempotent">, write: WriteCall) =>
  write.idempotent
    ? expected.idempotent
    : write.name === "create"
      ? expected.create
      : (expected.transaction ?? expected.create);

const NEEDS_ALL = RUN_ALL || process.env.UPDATE_DOCS !== undefined;
/** The writes that are tested. In `npm test`, it is one write of each kind. */
const PLAYED = WRITES.filter(({ name }) => NEEDS_ALL || ["create", "receive", "update"].includes(name));

/** The number of cases that run at the same time. Many of them wait, but none may be delayed by others. */
const AT_ONCE = 2;

async function playAll(options: ClientOptions): Promise<Map<Case, PromiseSettledResult<Result[]>>> {
  useLoopTime();
  const ends = new Map<Case, PromiseSettledResult<Result[]>>();
  for (let start = 0; start < CASES.length; start += AT_ONCE) {
    const part = CASES.slice(start, start + AT_ONCE);
    const played = await Promise.allSettled(
      part.map((fault) => Promise.all(PLAYED.map((write) => play(fault, write, options)))),
    );
    for (const [index, end] of played.entries()) ends.set(part[index] as Case, end);
  }
  return ends;
}

it.each(RULED_STATUSES)("the table has a row for status %d, which has a rule of its own", (status) => {
  const names = CASES.map(({ name, row = name }) => row);
  expect(names.filter((name) => name.split(/[, ]+/).includes(String(status)))).not.toEqual([]);
});

const rows: Row[] = [];

describe.each(TRANSPORTS)("a write through %s", (transport, options) => {
  let played: Promise<Map<Case, PromiseSettledResult<Result[]>>> | undefined;

  it.each(CASES)("with the fault: $name", async (fault) => {
    played ??= playAll(options);
    const end = (await played).get(fault);
    if (end?.status !== "fulfilled") throw end?.reason;
    for (const [index, write] of PLAYED.entries()) {
      const { outcome, effects } = end.value[index] ?? { outcome: "none", effects: 0 };
      const expected = expectedOf(transport === "fetch" ? { ...fault, ...fault.fetch } : fault, write);
      expect(`${write.name}: ${outcome}`).toBe(`${write.name}: ${expected}`);
      if (!write.idempotent) expect(effects, `effects of ${write.name}`).toBeLessThanOrEqual(1);
    }
    if (transport !== "fetch") rows.push({ fault: fault.row ?? fault.name, results: end.value });
  });
});

if (NEEDS_ALL) checkFaultTable("writes", WRITES, rows, CASES.length);
