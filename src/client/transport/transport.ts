import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import { mayReadEnvironment } from "../../shared/environment.js";
import { fieldOf, messageOf } from "../../shared/unknown.js";
import { createAgent, ResetWatch } from "./agent.js";
import { ACCEPTED_ENCODINGS, endsOnlyByClose, type Transport, type Wire } from "./exchange.js";
import { createFetchWire, type FetchLike } from "./fetch.js";

interface TransportOptions {
  fetch?: FetchLike | undefined;
  dispatcher?: Dispatcher | undefined;
  /** How long an attempt of a call may take by default, in ms. */
  timeoutMs: number;
}

/** Creates the transport of a client. A dispatcher or fetch function of the caller stays open when the client closes. */
export function createTransport(base: URL, options: TransportOptions, warn: (message: string) => void): Transport {
  const { fetch, dispatcher, timeoutMs } = options;
  if (fetch) return { send: createFetchWire(base, fetch), close: async () => {} };
  if (dispatcher) return { send: createUndiciWire(base, dispatcher), close: async () => {} };
  return createDefaultTransport(base, timeoutMs, warn);
}

/**
 * Sends with an agent of undici, which knows whether anything was sent, or with fetch if this runtime has no undici that
 * works. undici is loaded at the first request. Reasons: docs/decisions/012-undici-or-fetch.md
 */
function createDefaultTransport(base: URL, timeoutMs: number, warn: (message: string) => void): Transport {
  let chosen: Promise<{ send: Wire; agent?: Dispatcher }> | undefined;
  let active = 0;
  const connecting = new Set<Socket>();
  return {
    async send(request, exchange) {
      // After a failure, the next request chooses again: the proxy's environment variable may have been corrected.
      chosen ??= choose().catch((error: unknown) => {
        chosen = undefined;
        throw error;
      });
      const { send } = await chosen;
      if (exchange.hasEnded) return;
      active += 1;
      for (const socket of connecting) socket.ref();
      const end = () => {
        active -= 1;
        // The next request can use a connection that is still opening. Until then, it must not keep the process alive.
        if (active === 0) for (const socket of connecting) socket.unref();
      };
      exchange.onEnd = end;
      await send(request, exchange);
    },
    // All calls have ended. The remaining connections are idle, or are being opened for calls that were aborted.
    async close() {
      for (const socket of connecting) socket.destroy(new Error("the client is closed"));
      const { agent } = (await chosen?.catch(() => undefined)) ?? {};
      await agent?.destroy();
    },
  };

  async function choose() {
    const undici = await loadUndici(warn);
    if (!undici) return { send: createFetchWire(base, globalThis.fetch) };
    const resets = new ResetWatch();
    const agent = createAgent(undici, base, { timeoutMs, connecting, resets });
    return { send: createUndiciWire(base, agent, resets), agent };
  }
}

/** undici, if it can be loaded and works here. */
async function loadUndici(warn: (message: string) => void): Promise<typeof import("undici") | undefined> {
  // undici reads environment variables in a place where its error cannot be caught. Only Deno can forbid reading them.
  if (!mayReadEnvironment()) return undefined;
  try {
    const undici = await import("#undici");
    // The replacements of undici in Bun and in bundles for Workers cannot dispatch.
    return typeof fieldOf(undici.Agent?.prototype, "dispatch") === "function" ? undici : undefined;
  } catch (error) {
    warn(`requests are sent with fetch, because undici could not be loaded (${messageOf(error)})`);
    return undefined;
  }
}

/**
 * Sends through an undici dispatcher. Passes a handler to `dispatch` instead of calling `undici.request`: only a handler
 * learns whether anything was sent, which decides whether a write may be retried. A handler also needs no stream. `resets`
 * is set if `createAgent` created the dispatcher.
 */
function createUndiciWire(base: URL, dispatcher: Dispatcher, resets?: ResetWatch): Wire {
  const prefix = base.pathname.replace(/\/+$/, "");
  return async (request, exchange) => {
    const options: Dispatcher.DispatchOptions & { maxRedirections: number } = {
      origin: base.origin,
      path: prefix + request.target,
      method: request.method as Dispatcher.HttpMethod,
      headers: { "accept-encoding": ACCEPTED_ENCODINGS, ...request.headers },
      body: request.body ?? null,
      // The exchange enforces the timeout.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Tells a redirect interceptor of the caller's dispatcher to follow no redirect: credentials must go to no other origin.
      maxRedirections: 0,
    };
    dispatcher.dispatch(options, {
      onRequestStart(controller) {
        // The exchange has ended before this is called, so it only releases the connection.
        const cancel = () => controller.abort(new Error("canceled"));
        if (exchange.hasEnded) return cancel();
        exchange.cancel = cancel;
        try {
          request.beforeFirstByte();
          // `beforeFirstByte` may have aborted the call. Then undici sends nothing.
          exchange.sent = !exchange.hasEnded;
        } catch (cause) {
          exchange.fail("exception", cause);
        }
      },
      onResponseStart(_, status, headers) {
        if (status < 200) return;
        const joined = joinHeaderValues(headers);
        const endsByClose = endsOnlyByClose(joined);
        exchange.receiveHead(status, joined, { coding: joined["content-encoding"], endsByClose });
      },
      onResponseData: (_, chunk) => exchange.receiveChunk(chunk),
      onResponseEnd() {
        if (resets?.isReporting) exchange.fail("connection", resets.cause);
        else exchange.complete();
      },
      onResponseError: (_, cause) => exchange.failWith(cause),
    });
  };
}

function joinHeaderValues(raw: Record<string, string | string[] | undefined>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in raw) {
    const value = raw[name];
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  return headers;
}
