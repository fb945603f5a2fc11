import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { type ClientOptions, InventoryClient } from "../../../src/index.js";
import {
  createOutbox,
  type OutboxEntryInput,
  type OutboxOptions,
  sqliteOutboxStore,
} from "../../../src/outbox/index.js";
import { ownFolder } from "../../support/own-folder.js";

const fileNamed = ownFolder();
let worlds = 0;

export type Intercept = (request: Request, send: () => Promise<Response>) => Promise<Response>;

/** Creates a sandbox, with functions for clients and outboxes. `intercept` sees all requests, and `onWrite` only writes. */
export function createWorld(options: SandboxOptions = {}) {
  const sandbox = createSandbox({
    items: [{ shortID: "BOLT" }, { shortID: "NUT" }, { shortID: "WASHER" }],
    lots: [
      { shortID: "BOLT", wID: 3, units: 1_000, spot: "A-1", received: "2020-01-01T00:00:00Z" },
      { shortID: "NUT", wID: 3, units: 1_000, spot: "A-1", received: "2020-01-01T00:00:00Z" },
    ],
    rateLimit: false,
    ...options,
  });
  worlds += 1;
  const path = fileNamed(`${worlds}.db`);
  const world = {
    /** Returns a store on the same file each time, as after a crash. */
    store: () => sqliteOutboxStore({ path }),
    intercept: ((request, send) => (isWrite(request) ? world.onWrite(request, send) : send())) as Intercept,
    onWrite: ((_, send) => send()) as Intercept,
    createClient(clientOptions: ClientOptions = {}) {
      const fetch = async (input: Request | string | URL, init?: RequestInit) => {
        const request = new Request(input, init);
        // The request continues without the signal, as a service may apply a request that was aborted.
        const sent = new Request(request.clone(), { signal: null });
        const response = world.intercept(request, () => sandbox.fetch(sent.clone()));
        return Promise.race([response, rejectOnAbort(request.signal)]);
      };
      return new InventoryClient({
        baseUrl: sandbox.baseUrl,
        ...sandbox.credentials,
        fetch,
        rateLimit: false,
        timeoutMs: 150,
        retry: { minDelayMs: 1, maxDelayMs: 2, rateLimitDelayMs: [10, 20] },
        ...clientOptions,
      });
    },
    createOutbox(outboxOptions: Partial<OutboxOptions> = {}, clientOptions: ClientOptions = {}) {
      return createOutbox({
        client: world.createClient(clientOptions),
        store: world.store(),
        settleMs: 150,
        leaseMs: 1_000,
        mark: false,
        ...outboxOptions,
      });
    },
    /** Returns how many writes took effect. */
    effects: () =>
      sandbox.requests.filter(
        ({ method, path, status }) => method !== "GET" && path !== "/Token" && status && status < 300,
      ).length,
  };
  return world;
}

export const receipt = (key: string, fields: Record<string, unknown> = {}): OutboxEntryInput => ({
  key,
  operation: "receive",
  input: { itemID: "BOLT", units: 50, wid: 3, reasonCode: 1, ...fields },
});

export const isWrite = ({ method, url }: Request) => method !== "GET" && !url.endsWith("/Token");

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

/** Creates the error of a connection that breaks. */
export const connectionReset = () =>
  new TypeError("fetch failed", { cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }) });
