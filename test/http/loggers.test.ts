import { Console } from "node:console";
import { Writable } from "node:stream";
import pino from "pino";
import { expect, it, onTestFinished } from "vitest";
import winston from "winston";
import type { Logger } from "../../src/index.js";
import { SECRET, sandboxClient } from "../support/sandbox-client.js";
import { waitUntil } from "../support/with-server.js";

type Line = [level: string, message: string];

/** A logger with a minimum level, and the lines that it has written. */
interface TestLogger {
  logger: Logger;
  lines(): Line[];
}

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

const LOGGERS: Record<string, (level: "debug" | "warn") => TestLogger> = {
  pino(level) {
    const { written, stream } = memory();
    const parse = (line: string): { level: number; msg: string; module: string } => JSON.parse(line);
    return {
      logger: pino({ level }, stream).child({ module: "stock" }),
      lines: () =>
        written.map(parse).map(({ level, msg, module }) => {
          expect(module).toBe("stock");
          return [pino.levels.labels[level] ?? "", msg];
        }),
    };
  },
  winston(level) {
    const { written, stream } = memory();
    const { combine, splat, json } = winston.format;
    const parse = (line: string): { level: string; message: string } => JSON.parse(line);
    return {
      logger: winston.createLogger({
        level,
        // splat() replaces %s if there are values.
        format: combine(splat(), json()),
        transports: [new winston.transports.Stream({ stream })],
      }),
      lines: () => written.map(parse).map(({ level, message }) => [level, message]),
    };
  },
};

/** A call with everything that is logged: attempts, responses, a token, a retry, a pause and a hook that throws. */
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

/** A line without the values that differ from run to run. */
const steady = ([level, message]: Line): Line => [
  level,
  message.replace(/after \d+ ms/, "after N ms").replace(/until \S+Z$/, "until T"),
];

it.each(
  Object.entries(LOGGERS),
)("%s writes each line of its level once, in order and unchanged", async (_name, make) => {
  for (const [level, expected] of [
    ["debug", EXPECTED],
    ["warn", EXPECTED.filter(isLoud)],
  ] as const) {
    const { logger, lines } = make(level);
    await call(logger);
    await expect.poll(() => lines().map(steady)).toEqual(expected);
  }
});

it("the console writes each line once, warnings and errors to stderr", async () => {
  const [out, err] = [memory(), memory()];
  await call(new Console({ stdout: out.stream, stderr: err.stream }));
  const texts = (written: string[]) => written.map((message) => steady(["", message])[1]);
  expect(texts(out.written)).toEqual(EXPECTED.filter((line) => !isLoud(line)).map(([, message]) => message));
  expect(texts(err.written)).toEqual(EXPECTED.filter(isLoud).map(([, message]) => message));
});

it("a winston logger with the levels of syslog, which has no warn, is refused at once", () => {
  const logger = winston.createLogger({ levels: winston.config.syslog.levels });
  expect(() => sandboxClient({ logger })).toThrow("logger: must have the methods debug, info, warn and error");
});

/** Unhandled rejections until the test ends. */
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

/** Values that a caller's callback may return instead of undefined. */
const REJECTING: Record<string, () => unknown> = {
  "a promise": () => Promise.reject(new Error("mine")),
  "a thenable": () => thenable((_, reject) => reject(new Error("mine"))),
  "a thenable that throws": () => thenable(fails),
  "an object that cannot be read": () => new Proxy({}, { get: fails }),
};

it.each(
  Object.keys(REJECTING),
)("hooks, onResponse and loggers that return %s which fails change nothing", async (kind) => {
  const unhandled = unhandledRejections();
  const fail = REJECTING[kind] ?? (() => {});
  const errors: string[] = [];
  const log = (line: string) => {
    errors.push(line);
    return fail();
  };
  const logger = { debug: fail, info: fail, warn: fail, error: log };
  const hooks = { request: fail, response: fail, retry: fail, rateLimited: fail, token: fail };
  const { sandbox, client } = sandboxClient({ logger, hooks });
  sandbox.addFault({ path: "/Item", times: 1, fault: 503 });
  sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
  expect(await client.items.list({}, { onResponse: fail }).page()).toMatchObject({ totalCount: 3 });
  await waitUntil(() => errors.length >= 7);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const callbacks = ["request", "response", "retry", "rateLimited", "token"].map((name) => `the ${name} hook`);
  for (const what of [...callbacks, "onResponse"]) expect(errors).toContain(`stocklot: ${what} threw: mine`);
  expect(unhandled).toEqual([]);
});
