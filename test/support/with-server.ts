import { type Dispatcher, fetch } from "undici";
import { afterEach, vi } from "vitest";
import { type ClientOptions, InventoryClient, type TokenStore } from "../../src/index.js";
import { FaultServer } from "./fault-server.js";

export const SECRET = "canary-secret-0123456789abcdef";

export const TRANSPORTS: [string, ClientOptions][] = [
  ["undici", {}],
  ["fetch", { fetch: globalThis.fetch }],
];

/** A fetch function that sends through a dispatcher, as the global one does through its own. */
export const fetchThrough = (dispatcher: Dispatcher): typeof globalThis.fetch => {
  const fetchFunction: unknown = (url: string, init: object) => fetch(url, { ...init, dispatcher });
  return fetchFunction as typeof globalThis.fetch;
};

/** Retries that wait for some ms. */
export const QUICK = { minDelayMs: 1, maxDelayMs: 4, rateLimitDelayMs: [5, 6] } as const;

export const RECEIPT = { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 };

/** Has a token, so that the first request is that of the call. */
export const storedToken: TokenStore = {
  get: async () => ({ accessToken: "canary-token-0123456789", expiresAt: Date.now() + 60_000 }),
  set: async () => {},
  delete: async () => {},
};

/** A logger that keeps the warnings. */
export function warningLog() {
  const warnings: string[] = [];
  const ignore = () => {};
  const logger = { debug: ignore, info: ignore, error: ignore, warn: (line: string) => void warnings.push(line) };
  return { warnings, logger };
}

/** A logger and hooks that keep all that they receive. */
export function recorder() {
  const recorded: unknown[] = [];
  const note = (value: unknown) => void recorded.push(value);
  const logger = { debug: note, info: note, warn: note, error: note };
  const hooks = { request: note, response: note, retry: note, rateLimited: note, token: note };
  return { recorded, note, logger, hooks };
}

// Real ones, also while a test has stopped the time.
const { setTimeout: startTimer } = globalThis;
const now = performance.now.bind(performance);

const openResources: { close(): Promise<void> }[] = [];

afterEach(async () => {
  vi.useRealTimers();
  // All at once, since a client waits for calls that its server may delay.
  await Promise.all(openResources.splice(0).map((one) => one.close()));
});

export function closeAfterTest<T extends { close(): Promise<void> }>(resource: T): T {
  openResources.push(resource);
  return resource;
}

/** A fault server that is closed after the test. */
export async function startServer(): Promise<FaultServer> {
  return closeAfterTest(await FaultServer.start());
}

/** A client that is closed after the test. */
export function connect({ baseUrl }: { baseUrl: string }, options: ClientOptions = {}): InventoryClient {
  return closeAfterTest(new InventoryClient({ baseUrl, clientId: "scanner", clientSecret: SECRET, ...options }));
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
