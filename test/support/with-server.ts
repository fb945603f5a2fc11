import { afterEach, vi } from "vitest";
import { type ClientOptions, InventoryClient } from "../../src/index.js";
import { FaultServer } from "./fault-server.js";

export const SECRET = "canary-secret-0123456789abcdef";

// Real ones, also while a test has stopped the time.
const { setTimeout: startTimer } = globalThis;
const now = performance.now.bind(performance);

const openResources: { close(): Promise<void> }[] = [];

afterEach(async () => {
  vi.useRealTimers();
  // All at once, since a client waits for calls that its server may delay.
  await Promise.all(openResources.splice(0).map((one) => one.close()));
});

/** A fault server that is closed after the test. */
export async function startServer(): Promise<FaultServer> {
  const server = await FaultServer.start();
  openResources.push(server);
  return server;
}

/** A client that is closed after the test. */
export function connect({ baseUrl }: { baseUrl: string }, options: ClientOptions = {}): InventoryClient {
  const client = new InventoryClient({ baseUrl, clientId: "scanner", clientSecret: SECRET, ...options });
  openResources.push(client);
  return client;
}

/** What a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    const value = await promise;
    return new Error(`expected a failure, received ${JSON.stringify(value)}`);
  } catch (error) {
    return error;
  }
}

export const sleep = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

/** Waits for something to become true, in real time. The limit only keeps a test from waiting for ever. */
export async function waitUntil(isTrue: () => boolean, timeoutMs = 25_000): Promise<void> {
  const deadline = now() + timeoutMs;
  while (!isTrue()) {
    if (now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${isTrue}`);
    await new Promise<void>((resolve) => startTimer(resolve, 2));
  }
}
