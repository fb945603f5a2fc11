import type { Socket } from "node:net";
import { Agent, buildConnector } from "undici";
import { afterAll, describe, expect, it } from "vitest";
import { type ClientOptions, OutcomeUnknownError, StocklotError } from "../../src/index.js";
import type { Fault } from "../support/faults.js";
import { connect, fetchThrough, RECEIPT, startServer } from "../support/with-server.js";

/** Error codes of the system and of Node.js, frequent and rare. The outcome must depend on none of them. */
const CODES = [
  ...["ECONNRESET", "EPIPE", "ECONNREFUSED", "ETIMEDOUT", "EHOSTUNREACH", "ECONNABORTED", "ENETDOWN", "ENOBUFS", "EIO"],
  ...["ENOTFOUND", "EAI_AGAIN", "ERR_SSL_WRONG_VERSION_NUMBER", "EPROTO", "CERT_HAS_EXPIRED", "UND_ERR_SOCKET"],
];

type Break = (socket: Socket, fail: (syscall: string) => void) => void;

interface Point {
  breaks: Break;
  /** What the service does with the receipt. */
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

/** The points at which the connection of a request breaks, in order of time. */
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

/** Creates an agent whose connections break while they carry a receipt. Other requests are not affected. */
function breakingAgent(code: string, breaks: Break, isDue: () => boolean): Agent {
  const connector = buildConnector({});
  const agent = new Agent({
    // Without keep-alive, the token request uses a different connection than the receipt.
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
  fetch: (dispatcher) => ({ fetch: fetchThrough(dispatcher) }),
};

describe.each(
  Object.entries(TRANSPORTS),
)("with %s, a receipt is applied at most once, and never reported as not applied if it was", (_transport, through) => {
  it.each(Object.entries(POINTS))("if its connection breaks %s, whatever the code", async (_, { breaks, fault }) => {
    const play = async (code: string) => {
      const server = await startServer();
      const state = { isDue: false, broken: 0 };
      const agent = breakingAgent(code, breaks, () => {
        const { isDue } = state;
        state.isDue = false;
        state.broken += isDue ? 1 : 0;
        return isDue;
      });
      const retry = { maxRetries: 1, minDelayMs: 1, maxDelayMs: 1 };
      const client = connect(server, { ...through(agent), rateLimit: false, retry });
      await client.items.get("BOLT");
      state.isDue = true;
      if (fault) server.plan(fault);
      const end = await client.inventory.receive(RECEIPT).then(
        () => "done" as const,
        (error: unknown) => error,
      );
      expect(state.broken, code).toBe(1);
      const applied = server.effects("receive");
      expect(applied, code).toBeLessThanOrEqual(1);
      if (end === "done") return expect(applied, code).toBe(1);
      expect(end, code).toBeInstanceOf(StocklotError);
      if (!(end instanceof OutcomeUnknownError)) expect([code, applied, String(end)]).toEqual([code, 0, String(end)]);
    };
    await Promise.all(CODES.map(play));
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
