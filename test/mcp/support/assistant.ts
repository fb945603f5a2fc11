import { PassThrough } from "node:stream";
import {
  Client,
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { InventoryClient } from "stocklot";
import { createOutbox } from "stocklot/outbox";
import { createSandbox, type Sandbox, type SandboxOptions } from "stocklot/sandbox";
import { onTestFinished } from "vitest";
import { outboxStoreOf } from "../../../src/command/database.js";
import { serveMcp } from "../../../src/mcp/index.js";
import { type ServerParts, TIMES, type Times } from "../../../src/mcp/parts.js";
import { SingleWrites } from "../../../src/outbox/for-rooms.js";
import { closeAfterTest } from "../../support/with-server.js";

/** The revisions of the protocol that the tests speak. */
export const REVISIONS = ["2025-06-18", "2026-07-28"] as const;
export type Revision = (typeof REVISIONS)[number];

/** The answer of a person to a question. */
export interface Said {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, string | number | boolean | string[]>;
}
export type Person = (message: string, form: unknown) => Said | Promise<Said>;

export const accepts: Person = () => ({ action: "accept", content: {} });
export const acceptsAgain: Person = () => ({ action: "accept", content: { bookAgain: true } });
export const declines: Person = () => ({ action: "decline" });

/** Exchanges lines of JSON over two streams of this process, as over stdio. */
class Lines implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #buffer = new ReadBuffer();

  constructor(
    readonly received: PassThrough,
    readonly sent: PassThrough,
  ) {}

  async start(): Promise<void> {
    this.received.on("data", (chunk: Buffer) => {
      this.#buffer.append(chunk);
      for (let message = this.#buffer.readMessage(); message; message = this.#buffer.readMessage())
        this.onmessage?.(message);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.sent.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.sent.end();
    this.onclose?.();
  }
}

/** Connects a protocol client of this revision. Without a person, it declares that it cannot ask questions. */
export async function connect(
  transport: Transport,
  person: Person | undefined,
  revision: Revision = "2025-06-18",
): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: person ? { elicitation: { form: {} } } : {},
      ...(revision === "2026-07-28"
        ? { versionNegotiation: { mode: { pin: revision } } }
        : { supportedProtocolVersions: [revision] }),
    },
  );
  if (person)
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      const said = await person(params.message, "requestedSchema" in params ? params.requestedSchema : undefined);
      return { ...said };
    });
  await client.connect(transport);
  return client;
}

export interface Setting {
  sandbox?: Sandbox;
  options?: SandboxOptions;
  /** The file of the outbox, or the address of its database. */
  outbox?: string;
  person?: Person;
  revision?: Revision;
  room?: Partial<Omit<ServerParts, "times">> & { times?: Partial<Times> };
  settleMs?: number;
  serviceId?: string;
}

/** Starts a server in this process and connects an assistant to it. Returns both, with the sandbox, client and outbox. */
export async function assistant({
  options,
  outbox: path,
  person,
  revision,
  room,
  settleMs = 300,
  ...given
}: Setting = {}) {
  const sandbox = given.sandbox ?? createSandbox({ rateLimit: false, ...options });
  const { baseUrl, credentials, fetch } = sandbox;
  const retry = { minDelayMs: 1, maxDelayMs: 4 };
  const client = new InventoryClient({
    baseUrl,
    ...credentials,
    fetch,
    serviceId: given.serviceId,
    rateLimit: false,
    timeoutMs: settleMs,
    retry,
  });
  closeAfterTest(client);
  const outbox =
    path === undefined
      ? undefined
      : createOutbox({ client, store: outboxStoreOf("outbox", path, "create"), settleMs, leaseMs: 2_000 });
  if (outbox) closeAfterTest(outbox);
  const toServer = new PassThrough();
  const toClient = new PassThrough();
  const stop = new AbortController();
  const errors: unknown[] = [];
  const served = serveMcp(
    {
      client,
      copy: undefined,
      outbox,
      writes: outbox && new SingleWrites(outbox),
      operations: ["receive", "move", "issue"],
      confirms: true,
      savePlan: undefined,
      advice: {
        show: (key) => `show ${key}`,
        resolve: (...words) => `resolve ${words.join(" ")}`,
        apply: (file) => `apply ${file}`,
      },
      onError: (error) => void errors.push(error),
      ...room,
      times: { ...TIMES, settleEveryMs: 50, ...room?.times },
    },
    { input: toServer, output: toClient },
    stop.signal,
  );
  onTestFinished(async () => {
    stop.abort();
    await served;
  });
  const peer = await connect(new Lines(toClient, toServer), person, revision);
  return { sandbox, client, outbox, peer, errors, stop, served, toServer, toClient, tools: toolsOf(peer) };
}

export type Assistant = Awaited<ReturnType<typeof assistant>>;

export interface Outcome {
  isError: boolean;
  text: string;
  value: { outcome?: unknown; entry?: { key?: unknown; state?: unknown } } & Record<string, unknown>;
}

/** Returns a function that calls tools. */
export const toolsOf =
  (peer: Client) =>
  async (
    name: string,
    input: Record<string, unknown>,
    options: Parameters<Client["callTool"]>[1] = {},
  ): Promise<Outcome> => {
    const { isError = false, content, structuredContent } = await peer.callTool({ name, arguments: input }, options);
    const [first] = content;
    return { isError, text: first?.type === "text" ? first.text : "", value: Object(structuredContent) };
  };

/** Returns the bodies of the transactions that a sandbox has applied. */
export const appliedIn = ({ requests }: Sandbox, operation = "Receive") =>
  requests
    .filter(({ path, status }) => path === `/Inventory/${operation}` && Number(status) < 300 && status !== null)
    .map(({ body }) => body);
