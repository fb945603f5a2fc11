import type { Socket } from "node:net";
import { constants } from "node:os";
import { Agent, buildConnector, fetch as undiciFetch } from "undici";
import { afterAll, describe, expect, it } from "vitest";
import { type ClientOptions, OutcomeUnknownError, StocklotError } from "../../src/index.js";
import type { Fault } from "../support/faults.js";
import { RUN_ALL } from "../support/runs.js";
import { connect, RECEIPT, startServer } from "../support/with-server.js";

const FREQUENT = ["ECONNRESET", "EPIPE", "ECONNREFUSED", "ETIMEDOUT", "EHOSTUNREACH", "ECONNABORTED"];

/** Every code that the system can give (in `npm test`: the frequent ones), and some of Node's own. */
const CODES = [
  ...(RUN_ALL ? Object.keys(constants.errno) : FREQUENT),
  "ENOTFOUND",
  "EAI_AGAIN",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "UND_ERR_SOCKET",
];

const LANES = 8;
/** Tested side by side, each with a server of its own. */
const lanes = Array.from({ length: LANES }, (_, lane) => CODES.filter((_code, index) => index % LANES === lane));

type Break = (socket: Socket, fail: (syscall: string) => void) => void;

interface Point {
  breaks: Break;
  /** How the service responds to the receipt. */
  fault?: Fault;
}

const afterWriting =
  (then: (fail: () => void) => void): Break =>
  (socket, fail) => {
    const { _write, _writev } = socket;
    const wrap = (original: unknown) =>
      function (this: Socket, ...given: unknown[]) {
        const result = Reflect.apply(original as never, this, given);
        then(() => fail("read"));
        return result;
      };
    Object.assign(socket, { _write: wrap(_write), ...(_writev && { _writev: wrap(_writev) }) });
  };

const soon = (fail: () => void) => void setTimeout(fail, 8);

/** Where a request's connection breaks, in order. */
const POINTS: Record<string, Point> = {
  "when it is established, before a byte is written": { breaks: (_, fail) => fail("read") },
  "at the first write, which hands nothing over": {
    breaks: (socket, fail) => {
      const refuse = () => fail("write");
      Object.assign(socket, { _write: refuse, _writev: refuse });
    },
  },
  "while the request is written": { breaks: afterWriting((fail) => fail()) },
  "before the response": { breaks: afterWriting(soon), fault: { applies: true, respond: () => {} } },
  "in the head of the response": {
    breaks: afterWriting(soon),
    fault: { applies: true, respond: ({ request }) => void request.socket.write("HTTP/1.1 200 OK\r\ncontent-") },
  },
  "in the body of the response": {
    breaks: afterWriting(soon),
    fault: {
      applies: true,
      respond: ({ response }) => void response.writeHead(200, { "content-length": "90" }).write('{"message": '),
    },
  },
};

const systemError = (code: string, syscall: string) =>
  Object.assign(new Error(`${syscall} ${code}`), { code, syscall, errno: -1 });

const agents: Agent[] = [];
afterAll(() => Promise.all(agents.map((agent) => agent.destroy())));

/** Connections whose receipt breaks; those of other requests are whole. */
function breakingAgent(code: string, breaks: Break, isDue: () => boolean): Agent {
  const connector = buildConnector({});
  const agent = new Agent({
    // The token request has a connection of its own.
    pipelining: 0,
    connect: (options, callback) =>
      connector(options, (error, socket) => {
        if (error) return callback(error, null);
        if (isDue()) breaks(socket as Socket, (syscall) => void socket.destroy(systemError(code, syscall)));
        callback(null, socket);
      }),
  });
  agents.push(agent);
  return agent;
}

const TRANSPORTS: Record<string, (agent: Agent) => ClientOptions> = {
  undici: (dispatcher) => ({ dispatcher }),
  fetch: (dispatcher) => ({
    fetch: (url: string, init: RequestInit) => undiciFetch(url, { ...(init as object), dispatcher }) as never,
  }),
};

describe.each(Object.keys(TRANSPORTS))("with %s, a receipt is applied once at most, and never unsaid", (transport) => {
  it.each(Object.entries(POINTS))("if its connection breaks %s, whatever the code", async (_, { breaks, fault }) => {
    let broken = 0;
    const lane = async (codes: readonly string[]) => {
      const server = await startServer();
      for (const code of codes) {
        const before = server.effects("receive");
        let isDue = false;
        const agent = breakingAgent(code, breaks, () => {
          const due = isDue;
          isDue = false;
          broken += due ? 1 : 0;
          return due;
        });
        const client = connect(server, {
          ...TRANSPORTS[transport]?.(agent),
          rateLimit: false,
          retry: { maxRetries: 1, minDelayMs: 1, maxDelayMs: 1 },
        });
        await client.items.get("BOLT");
        isDue = true;
        if (fault) server.plan(fault);
        const end = await client.inventory.receive(RECEIPT).then(
          () => "done" as const,
          (error: unknown) => error,
        );
        const applied = server.effects("receive") - before;
        expect(applied, code).toBeLessThanOrEqual(1);
        if (end === "done") expect(applied, code).toBe(1);
        else {
          expect(end, code).toBeInstanceOf(StocklotError);
          if (!(end instanceof OutcomeUnknownError))
            expect([code, applied, String(end)]).toEqual([code, 0, String(end)]);
        }
      }
    };
    await Promise.all(lanes.map(lane));
    expect(broken).toBe(CODES.length);
  });
});

it("a failure to connect is no reason for doubt: the receipt is resent and applied once", async () => {
  const server = await startServer();
  for (const code of ["ECONNREFUSED", "EHOSTUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "ETIMEDOUT"]) {
    const before = server.effects("receive");
    const connector = buildConnector({});
    let failures = 1;
    const agent = new Agent({
      connect: (options, callback) =>
        failures-- > 0 ? callback(systemError(code, "connect"), null) : connector(options, callback),
    });
    agents.push(agent);
    for (const options of Object.values(TRANSPORTS).map((of) => of(agent))) {
      failures = 1;
      const client = connect(server, { ...options, rateLimit: false, retry: { minDelayMs: 1, maxDelayMs: 1 } });
      await client.inventory.receive(RECEIPT);
    }
    expect(server.effects("receive") - before, code).toBe(2);
  }
});
