import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import { type ClientOptions, type DiagnosticsMessages, InventoryClient } from "../../src/index.js";
import { createSandbox, type SandboxOptions } from "../../src/sandbox/index.js";
import { enterOwnContext } from "./own-context.js";

/** The channels that report what a call does. */
const CHANNELS = [
  "stocklot:request",
  "stocklot:retry",
  "stocklot:rate-limit",
  "stocklot:token",
  "stocklot:waiting",
] as const;

type Channel = (typeof CHANNELS)[number];
export type ReceivedMessage = { [Name in Channel]: { channel: Name; message: DiagnosticsMessages[Name] } }[Channel];

export const SECRET = "a-very-secret-secret";

/** Subscribes to what the calling test causes on a channel, until it ends. */
export function subscribeInTest(channel: keyof DiagnosticsMessages, listener: (message: unknown) => void): void {
  const isOwn = enterOwnContext();
  const listenToOwn = (message: unknown) => {
    if (isOwn()) listener(message);
  };
  subscribe(channel, listenToOwn);
  onTestFinished(() => void unsubscribe(channel, listenToOwn));
}

/** All messages of the channels until the test ends. */
export function recordMessages(): ReceivedMessage[] {
  const messages: ReceivedMessage[] = [];
  for (const channel of CHANNELS)
    subscribeInTest(channel, (message) => void messages.push({ channel, message } as ReceivedMessage));
  return messages;
}

/** The messages that report the end of a call. */
export const endMessages = (messages: readonly ReceivedMessage[]) =>
  messages.flatMap(({ message }) => (message.type === "end" ? message : []));

/** A client of a small sandbox, with short delays. */
export function sandboxClient(options: ClientOptions = {}, service: SandboxOptions = {}) {
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
