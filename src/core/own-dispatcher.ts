import type { Dispatcher } from "undici";
import type { DispatcherSource } from "./undici-transport.js";

/** Idle connections are closed before usual servers close them, so that a write seldom meets one that is closing. */
const KEEP_ALIVE_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;

const PROXY_VARIABLES = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"];

/** The client's own agent, made at the first request; it goes through the proxy that the environment names, if any. */
export function ownDispatcher(): DispatcherSource {
  let made: Promise<Dispatcher> | undefined;
  return {
    get: () => {
      made ??= makeAgent();
      return made;
    },
    // All calls have ended by now; what is left are idle connections, and one that an aborted call was waiting for.
    close: async () => {
      await (await made)?.destroy();
    },
  };
}

/** The caller's dispatcher, which stays open when the client closes. */
export function callersDispatcher(dispatcher: Dispatcher): DispatcherSource {
  return { get: async () => dispatcher, close: async () => {} };
}

async function makeAgent(): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent } = await import("undici");
  const options = { keepAliveTimeout: KEEP_ALIVE_MS, connect: { timeout: CONNECT_TIMEOUT_MS } };
  return PROXY_VARIABLES.some((name) => process.env[name]) ? new EnvHttpProxyAgent(options) : new Agent(options);
}
