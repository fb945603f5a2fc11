import type { LoggedRequest } from "./activity.js";
import { createFetchAdapter, type SandboxFetch } from "./adapters/fetch.js";
import { type ListenOptions, type SandboxServer, startSandboxServer } from "./adapters/node-server.js";
import { completeFaultRule, type FaultRule } from "./faults.js";
import { SANDBOX_ORIGIN, SERVICE_BASE_PATH } from "./http/messages.js";
import type { SandboxClient, SandboxOptions } from "./options/options.js";
import { resolveSandboxSettings } from "./options/settings.js";
import { SandboxService } from "./service.js";

/** The whole Inventory and Item Catalog Service, in memory. */
export interface Sandbox {
  /** Base URL for the client, together with {@link Sandbox.fetch}. */
  readonly baseUrl: string;
  /** Credentials of the first client: spread them into the options of `InventoryClient`. */
  readonly credentials: {
    /** Name of the client. @default "sandbox-client" */
    readonly clientId: string;
    /** Its secret. @default "sandbox-secret" */
    readonly clientSecret: string;
  };
  /** Called like the global `fetch`, without `this`; no network is involved. */
  readonly fetch: SandboxFetch;
  /** The requests so far, in order. */
  readonly requests: readonly LoggedRequest[];
  /** Serves the sandbox over HTTP; by default on a free port of the loopback address. */
  listen(options?: ListenOptions): Promise<SandboxServer>;
  /**
   * Makes requests fail, from now on. The first rule that matches a request applies; new rules come last.
   *
   * @example
   * import { createSandbox } from "stocklot/sandbox";
   *
   * const sandbox = createSandbox();
   * // The next receipt is booked, but its response is lost: the client rejects with
   * // an OutcomeUnknownError.
   * sandbox.addFault({
   *   method: "POST",
   *   path: "/Inventory/Receive",
   *   fault: "drop-after",
   *   times: 1,
   * });
   * sandbox.addFault({ path: "/Item*", fault: 503 }); // each request for items fails
   * @throws ConfigurationError if the rule is wrong; the message names the field.
   */
  addFault(rule: FaultRule): void;
  /** Removes all rules, those of the options included. */
  clearFaults(): void;
  /**
   * Calls the listener for each request once its response is known. Returns a function that removes the listener. If a
   * listener throws or rejects, a warning is printed, and the response does not change.
   */
  onRequest(listener: (request: LoggedRequest) => void): () => void;
  /** Moves the sandbox's clock forward, in addition to `now`. */
  advance(milliseconds: number): void;
  /** Revokes every token, as if the service had been restarted: the next request gets 401. */
  revokeTokens(): void;
  /** Restores the initial state: data, tokens, rate window, clock, `requests`, and the faults of the options. */
  reset(): void;
}

/**
 * Creates a sandbox: the whole service in memory, to develop and test against.
 *
 * @example
 * import { InventoryClient } from "stocklot";
 * import { createSandbox } from "stocklot/sandbox";
 *
 * const sandbox = createSandbox({
 *   items: [{ shortID: "BOLT-M8" }],
 *   lots: [{ shortID: "BOLT-M8", wID: 3, units: 40 }],
 * });
 * const client = new InventoryClient({
 *   baseUrl: sandbox.baseUrl,
 *   ...sandbox.credentials,
 *   fetch: sandbox.fetch,
 * });
 * @throws ConfigurationError for an unknown or invalid option; the message names it.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const settings = resolveSandboxSettings(options);
  const service = new SandboxService(settings);
  return {
    baseUrl: SANDBOX_ORIGIN + SERVICE_BASE_PATH,
    credentials: credentialsOf(settings.clients[0]),
    fetch: createFetchAdapter(service),
    requests: service.requests,
    listen: (listenOptions) => startSandboxServer(service, listenOptions),
    addFault: (rule) => service.current.faults.add(completeFaultRule(rule)),
    clearFaults: () => service.current.faults.clear(),
    onRequest: (listener) => service.listeners.add(listener),
    advance: (milliseconds) => service.advance(milliseconds),
    revokeTokens: () => service.current.access.revokeTokens(),
    reset: () => service.reset(),
  };
}

/** Can be spread like a plain object, but `console.log` and `util.inspect` do not show the secret. */
function credentialsOf({ clientId, clientSecret }: SandboxClient): Sandbox["credentials"] {
  const credentials = {
    clientId,
    get clientSecret() {
      return clientSecret;
    },
  };
  return Object.defineProperty(credentials, Symbol.for("nodejs.util.inspect.custom"), {
    value: () => ({ clientId, clientSecret: "[redacted]" }),
  });
}
