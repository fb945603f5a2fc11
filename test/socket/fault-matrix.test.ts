import { describe, expect, it } from "vitest";
import { type ClientOptions, OutcomeUnknownError, StocklotError } from "../../src/index.js";
import { type FaultServer, isToken } from "../support/fault-server.js";
import { checkFaultTable, type Row } from "../support/fault-table.js";
import * as faults from "../support/faults.js";
import { useLoopTime } from "../support/loop-time.js";
import { isCorrect, reportedEffect } from "../support/reported-effect.js";
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
  /** Its name in the table, if it differs from `name`: faults with the same results share a row. */
  row?: string;
  prepare(server: FaultServer): unknown;
  /** `create`, and the three transactions unless set below. */
  create: Expected;
  transaction?: Expected;
  /** `update` and `discontinue`. */
  idempotent: Expected;
  options?: ClientOptions;
  /** Set if the fetch function cannot distinguish what the dispatcher can. */
  fetch?: Partial<Pick<Case, "create" | "transaction" | "idempotent">>;
}

const OK = "ok";
const UNKNOWN = "OutcomeUnknownError";
const NOT_JSON = "success with a body that is empty or otherwise not JSON";
const NO_SUCCESS = "success with HTML, or with the service's own error object";
const UNREADABLE = "success with a body over `maxResponseBytes`, or that cannot be decompressed";
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

const CASES: readonly Case[] = [
  {
    name: "connection refused, then accepted",
    prepare: async (server) => {
      await server.refuseConnections();
      setTimeout(() => void server.listen(), 60);
    },
    options: { retry: { ...quick, maxRetries: 50, minDelayMs: 30, maxDelayMs: 30 } },
    create: OK,
    idempotent: OK,
  },
  {
    name: "connection refused, always",
    prepare: (server) => server.refuseConnections(),
    create: "ConnectionError",
    idempotent: "ConnectionError",
  },
  {
    name: "connection broken before the service reads the request, once",
    prepare: (server) => server.plan(faults.dropped()),
    create: UNKNOWN,
    idempotent: OK,
  },
  {
    name: "connection broken before the service reads the request, always",
    prepare: (server) => server.plan(faults.dropped(), { times: always }),
    create: UNKNOWN,
    idempotent: "ConnectionError",
  },
  {
    name: "connection closed, applied, once",
    row: "connection broken, applied, once",
    prepare: (server) => server.plan(faults.droppedAfterEffect()),
    create: UNKNOWN,
    idempotent: OK,
  },
  {
    name: "connection broken, applied, always",
    prepare: (server) => server.plan(faults.droppedAfterEffect(), { times: always }),
    create: UNKNOWN,
    idempotent: "ConnectionError",
  },
  {
    name: "connection reset, applied, once",
    row: "connection broken, applied, once",
    prepare: (server) => server.plan(faults.resetAfterEffect()),
    create: UNKNOWN,
    idempotent: OK,
  },
  ...[500, 502, 503].flatMap((code): Case[] => [
    {
      name: `${code}, not applied, once`,
      row: "500, 502 or 503, not applied, once",
      prepare: (server) => server.plan(faults.status(code)),
      create: UNKNOWN,
      idempotent: OK,
    },
    {
      name: `${code}, applied, once`,
      row: "500, 502 or 503, applied, once",
      prepare: (server) => server.plan(faults.status(code, { applies: true })),
      create: UNKNOWN,
      idempotent: OK,
    },
    {
      name: `${code}, applied, always`,
      row: "500, 502 or 503, applied, always",
      prepare: (server) => server.plan(faults.status(code, { applies: true }), { times: always }),
      create: UNKNOWN,
      idempotent: "ServerError",
    },
  ]),
  {
    name: "501",
    prepare: (server) => server.plan(faults.status(501), { times: always }),
    create: "NotImplementedError",
    idempotent: "NotImplementedError",
  },
  {
    name: "408, once",
    prepare: (server) => server.plan(faults.status(408)),
    create: UNKNOWN,
    idempotent: OK,
  },
  {
    name: "429 without `Retry-After`, once",
    row: "429, once",
    prepare: (server) => server.plan(faults.rateLimited()),
    create: OK,
    idempotent: OK,
  },
  {
    name: "429 with `Retry-After`, once",
    row: "429, once",
    prepare: (server) => server.plan(faults.rateLimited("0.05")),
    create: OK,
    idempotent: OK,
  },
  {
    name: "429, always",
    prepare: (server) => server.plan(faults.rateLimited(), { times: always }),
    create: "RateLimitError",
    idempotent: "RateLimitError",
  },
  {
    name: "401, once",
    prepare: (server) => server.plan(faults.status(401)),
    create: OK,
    idempotent: OK,
  },
  {
    name: "401, always",
    prepare: (server) => server.plan(faults.status(401), { times: always }),
    create: "AuthenticationError",
    idempotent: "AuthenticationError",
  },
  ...TOKEN_FAULTS.map(
    ([name, fault, outcome]): Case => ({
      name: `401, and \`POST /Token\` ${name}, always`,
      prepare: (server) => {
        server.service.revokeTokens();
        server.plan(fault, { on: isToken, times: always });
      },
      create: outcome,
      idempotent: outcome,
    }),
  ),
  {
    name: "no response, not applied, once",
    prepare: (server) => server.plan(faults.hang({ applies: false })),
    options: slow,
    create: UNKNOWN,
    idempotent: OK,
  },
  {
    name: "no response, applied, once",
    prepare: (server) => server.plan(faults.hang({ applies: true })),
    options: slow,
    create: UNKNOWN,
    idempotent: OK,
  },
  {
    name: "no response, applied, always",
    prepare: (server) => server.plan(faults.hang({ applies: true }), { times: always }),
    options: slow,
    create: UNKNOWN,
    idempotent: "TimeoutError",
  },
  {
    name: "no response within `totalTimeoutMs`, applied",
    prepare: (server) => server.plan(faults.hang({ applies: true }), { times: always }),
    options: { totalTimeoutMs: HANG_MS },
    create: UNKNOWN,
    idempotent: "TimeoutError",
  },
  {
    name: "slow body, complete within `timeoutMs`",
    prepare: (server) => server.plan(faults.slowBody(1)),
    create: OK,
    idempotent: OK,
  },
  {
    name: "slow body, not complete within `timeoutMs`, once",
    prepare: (server) => server.plan(faults.slowBody(5_000)),
    options: slow,
    create: UNKNOWN,
    idempotent: OK,
  },
  {
    name: "body shorter than its `content-length`, once",
    row: "success, but the connection breaks within the body, once",
    prepare: (server) => server.plan(faults.truncated()),
    create: UNKNOWN,
    idempotent: OK,
  },
  {
    name: "body that ends between two chunks, once",
    row: "success, but the connection breaks within the body, once",
    prepare: (server) => server.plan(faults.cutChunks()),
    create: UNKNOWN,
    idempotent: OK,
  },
  {
    name: "a response that is not HTTP, once",
    prepare: (server) => server.plan(faults.notHttp("SSH-2.0-OpenSSH_9.6\r\n\r\n")),
    create: UNKNOWN,
    idempotent: OK,
  },
  {
    name: "success with a body that is not JSON",
    row: NOT_JSON,
    prepare: (server) => server.plan(faults.invalidJson()),
    create: "ResponseValidationError",
    transaction: OK,
    idempotent: "ResponseValidationError",
  },
  {
    name: "success with an empty body",
    row: NOT_JSON,
    prepare: (server) => server.plan(faults.emptyBody()),
    create: "ResponseValidationError",
    transaction: OK,
    idempotent: "ResponseValidationError",
  },
  {
    name: "success with HTML",
    row: NO_SUCCESS,
    prepare: (server) => server.plan(faults.html()),
    create: UNKNOWN,
    idempotent: "ResponseValidationError",
  },
  {
    name: "success with the service's own error object",
    row: NO_SUCCESS,
    prepare: (server) => server.plan(faults.body(ERROR_OBJECT)),
    create: UNKNOWN,
    idempotent: "ResponseValidationError",
  },
  {
    name: 'success with `{"status":"failed"}`',
    prepare: (server) => server.plan(faults.body('{"status":"failed"}', { applies: true })),
    create: UNKNOWN,
    transaction: OK,
    idempotent: "ResponseValidationError",
  },
  ...[302, 303].map(
    (code): Case => ({
      name: `${code}, applied`,
      row: "302 or 303, applied",
      prepare: (server) => server.plan(faults.status(code, { applies: true, headers: { location: "/login" } })),
      create: UNKNOWN,
      idempotent: "ApiError",
    }),
  ),
  {
    name: "success with a body over `maxResponseBytes`",
    row: UNREADABLE,
    prepare: (server) => server.plan(faults.tooLarge(2 * MAX_BYTES)),
    create: UNKNOWN,
    idempotent: "ResponseValidationError",
  },
  {
    name: "success with a gzip bomb",
    row: UNREADABLE,
    prepare: (server) => server.plan(faults.gzipBomb(100 * MAX_BYTES)),
    create: UNKNOWN,
    idempotent: "ResponseValidationError",
  },
  {
    name: "success with broken gzip",
    row: UNREADABLE,
    prepare: (server) => server.plan(faults.brokenGzip()),
    create: UNKNOWN,
    idempotent: "ResponseValidationError",
    // fetch decompresses by itself and cannot distinguish broken data from a broken connection.
    fetch: { create: UNKNOWN, transaction: UNKNOWN, idempotent: OK },
  },
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
/** In `npm test` one of each kind. */
const PLAYED = WRITES.filter(({ name }) => NEEDS_ALL || ["create", "receive", "update"].includes(name));

/** Plays all cases at the same time, since many of them wait. */
async function playAll(options: ClientOptions): Promise<Map<Case, PromiseSettledResult<Result[]>>> {
  useLoopTime();
  const played = await Promise.allSettled(
    CASES.map((fault) => Promise.all(PLAYED.map((write) => play(fault, write, options)))),
  );
  return new Map(CASES.map((fault, index) => [fault, played[index] as PromiseSettledResult<Result[]>]));
}

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
