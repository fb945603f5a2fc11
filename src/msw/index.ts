/**
 * The sandbox as msw request handlers.
 *
 * @module stocklot/msw
 */

import { HttpResponse, http, type RequestHandler } from "msw";
import type { Sandbox } from "../sandbox/index.js";
import { configurationError } from "../shared/schema.js";
import { parseUrl } from "../shared/url.js";

/**
 * Handlers that respond to every request under `baseUrl` from the sandbox, for `setupServer` or `setupWorker`.
 *
 * msw intercepts the global `fetch`, so the client needs `fetch: globalThis.fetch`. A dropped connection becomes
 * msw's network error: the caller's fetch rejects with a `TypeError` without a `cause`.
 *
 * @example
 * import { setupServer } from "msw/node";
 * import { sandboxHandlers } from "stocklot/msw";
 * import { createSandbox } from "stocklot/sandbox";
 *
 * const server = setupServer(
 *   ...sandboxHandlers(createSandbox(), "https://inventory.example.com/api/v1"),
 * );
 * server.listen();
 * @param sandbox the result of `createSandbox`
 * @param baseUrl the client's base URL, version segment included; the sandbox's own by default
 * @throws ConfigurationError if `baseUrl` is not a URL
 */
export function sandboxHandlers(
  sandbox: Pick<Sandbox, "baseUrl" | "fetch">,
  baseUrl: string = sandbox.baseUrl,
): RequestHandler[] {
  const url = parseUrl(baseUrl);
  if (!url) {
    throw configurationError("sandboxHandlers", [{ path: ["baseUrl"], message: "must be a URL" }]);
  }
  // In the form that request URLs have: without a default port, and with the host in ASCII.
  const base = url.href.replace(/\/+$/, "");
  const path = new RegExp(`^${base.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}(?:/|$)`);
  return [
    http.all(path, async ({ request }) => {
      const target = sandbox.baseUrl + request.url.slice(base.length);
      try {
        return await sandbox.fetch(new Request(target, request.clone()), { signal: request.signal });
      } catch (error) {
        // An aborted caller has its own reason already; msw would report a rejection as an error of the handler.
        if (error instanceof TypeError || request.signal.aborted) return HttpResponse.error();
        throw error;
      }
    }),
  ];
}
