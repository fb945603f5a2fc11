import { type Dispatcher, fetch } from "undici";
import { afterEach, vi } from "vitest";
import { type ClientOptions, InventoryClient, type TokenStore } from "../../src/index.js";
import { FaultServer } from "./fault-server.js";

export const SECRET = "canary-secret-0123456789abcdef";

export const TRANSPORTS: [string, ClientOptions][] = [
  ["undici", {}],
  ["fetch", { fetch: globalThis.fetch }],
];

/** Returns a fetch function that sends through a dispatcher, as the global fetch does through the global dispatcher. */
export const fetchThrough = (dispatcher: Dispatcher): typeof globalThis.fetch => {
  const fetchFunction: unknown = (url: string, init: object) => fetch(url, { ...init, dispatcher });
  return fetchFunction as typeof globalThis.fetch;
};

/** Options for retries that wait only a few ms. */
export const QUICK = { minDelayMs: 1, maxDelayMs: 4, rateLimitDelayMs: [5, 6] } as const;

export const RECEIPT = { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 };

/** A token store that has a token, so that the first request is the request of the call. */
export const storedToken: TokenStore = {
  get: async () => ({ accessToken: "canary-token-0123456789", expiresAt: Date.now() + 60_000 }),
  set: async () => {},
  delete: async () => {},
};

/** Creates a logger that collects warnings. */
export function warningLog() {
  const warnings: string[] = [];
  const ignore = () => {};
  const logger = { debug: ignore, info: ignore, error: ignore, warn: (line: string) => void warnings.push(line) };
  return { warnings, logger };
}

/** Creates a logger and hooks that collect everything that they receive. */
export function recorder() {
  const recorded: unknown[] = [];
  const note = (value: unknown) => void recorded.push(value);
  const logger = { debug: note, info: note, warn: note, error: note };
  const hooks = { request: note, response: note, retry: note, rateLimited: note, token: note };
  return { recorded, note, logger, hooks };
}

// The real functions, which also work while a test has stopped the time.
const { setTimeout: startTimer } = globalThis;
const now = performance.now.bind(performance);

const openResources: { close(): Promise<void> }[] = [];

afterEach(async () => {
  vi.useRealTimers();
  // Closes all at the same time, because a client waits for calls that its server may delay.
  await Promise.all(openResources.splice(0).map((one) => one.close()));
});

export function closeAfterTest<T extends { close(): Promise<void> }>(resource: T): T {
  openResources.push(resource);
  return resource;
}

/** Starts a fault server, which is closed after the test. */
export async function startServer(): Promise<FaultServer> {
  return closeAfterTest(await FaultServer.start());
}

/** Creates a client, which is closed after the test. */
export function connect({ baseUrl }: { baseUrl: string }, options: ClientOptions = {}): InventoryClient {
  return closeAfterTest(new InventoryClient({ baseUrl, clientId: "scanner", clientSecret: SECRET, ...options }));
}

/** Returns the error with which a promise rejects. If it resolves, returns an Error that says so. */
export async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    const value = await promise;
    return new Error(`expected a failure, received ${JSON.stringify(value)}`);
  } catch (error) {
    return error;
  }
}

export const sleep = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

/** Waits in real time until a condition is true. The limit only keeps a test from waiting for ever. */
export async function waitUntil(isTrue: () => boolean, timeoutMs = 25_000): Promise<void> {
  const deadline = now() + timeoutMs;
  while (!isTrue()) {
    if (now() > deadline) throw new Error(`the condition was not true within ${timeoutMs} ms: ${isTrue}`);
    await new Promise<void>((resolve) => startTimer(resolve, 2));
  }
}
