import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import { type ClientOptions, type DiagnosticsMessages, InventoryClient } from "../../src/index.js";
import { createSandbox, type SandboxOptions } from "../../src/sandbox/index.js";

type Channel = keyof DiagnosticsMessages;
export type Heard = { [Name in Channel]: { channel: Name; message: DiagnosticsMessages[Name] } }[Channel];

const CHANNELS: Channel[] = [
  "stocklot:request",
  "stocklot:retry",
  "stocklot:rate-limit",
  "stocklot:token",
  "stocklot:waiting",
];

export const SECRET = "a-very-secret-secret";

/** Subscribes to a channel until the test ends. */
export function hear(channel: Channel, listener: (message: unknown) => void): void {
  subscribe(channel, listener);
  onTestFinished(() => void unsubscribe(channel, listener));
}

/** All that the channels tell until the test ends. */
export function listen(): Heard[] {
  const heard: Heard[] = [];
  for (const channel of CHANNELS) hear(channel, (message) => void heard.push({ channel, message } as Heard));
  return heard;
}

/** What the channels told of the ends of calls. */
export const endsOf = (heard: readonly Heard[]) =>
  heard.flatMap(({ message }) => (message.type === "end" ? message : []));

/** A client of a small sandbox, in no hurry to wait. */
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
