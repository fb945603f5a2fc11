import type { Dispatcher } from "undici";
import { mayReadEnvironment } from "../../shared/environment.js";
import { fieldOf, messageOf } from "../../shared/unknown.js";
import { createAgent } from "./default-agent.js";
import { createFetchSender, findFetchProxy } from "./fetch.js";
import { describeNetworkFailure } from "./network-failure.js";
import { describeProxy, type EnvironmentProxy, findEnvironmentProxy, ProxyFailure } from "./proxy.js";
import type { Transport, TransportInfo, WireSender } from "./transport.js";
import { createUndiciSender } from "./undici.js";

/** What was chosen at the first request. */
interface ChosenSender {
  send: WireSender;
  agent?: Dispatcher;
}

/**
 * Sends with an agent of undici, which knows whether anything was sent, or with fetch if this runtime has no undici that
 * works. undici is loaded at the first request. Why so: docs/decisions/012-undici-or-fetch.md
 */
export function createDefaultTransport(base: URL, warn: (message: string) => void): Transport {
  const info: TransportInfo = {
    name: "undici or fetch, chosen at the first request",
    proxy: describeProxySafely(() => findEnvironmentProxy(base)),
  };
  let chosen: Promise<ChosenSender> | undefined;
  return {
    info,
    send: async (request, exchange) => {
      // A failure is not kept: the variable of the proxy may be corrected.
      chosen ??= choose().catch((error: unknown) => {
        chosen = undefined;
        throw error;
      });
      const { send } = await chosen;
      if (!exchange.ended) await send(request, exchange);
    },
    // All calls have ended: only idle connections are left, and those that aborted calls were waiting for.
    close: async () => {
      const { agent } = (await chosen?.catch(() => undefined)) ?? {};
      await agent?.destroy();
    },
  };

  async function choose(): Promise<ChosenSender> {
    const undici = await loadUndici(warn);
    if (!undici) {
      info.name = "fetch";
      info.proxy = describeProxySafely(() => findFetchProxy(base));
      return { send: createFetchSender(base, globalThis.fetch) };
    }
    const proxy = findEnvironmentProxy(base);
    const agent = createAgent(undici, proxy, (socket) => {
      info.tls = tlsVersionOf(socket);
    });
    info.name = "undici";
    info.proxy = proxy && describeProxy(proxy);
    const toConnectFailure = (cause: unknown) =>
      proxy && !(cause instanceof ProxyFailure) && describeNetworkFailure(cause)
        ? new ProxyFailure(proxy, cause)
        : cause;
    return { send: createUndiciSender(base, agent, toConnectFailure), agent };
  }
}

/** The proxy for a bug report. An address that is not valid is reported by the first request. */
function describeProxySafely(findProxy: () => EnvironmentProxy | undefined): string | undefined {
  try {
    const proxy = findProxy();
    return proxy && describeProxy(proxy);
  } catch (error) {
    return `of an invalid address (${messageOf(error)})`;
  }
}

/** undici, if it can be loaded and works here. */
async function loadUndici(warn: (message: string) => void): Promise<typeof import("undici") | undefined> {
  // It reads environment variables where their failure cannot be caught. Only Deno may forbid that.
  if (!mayReadEnvironment()) return undefined;
  try {
    const undici = await import("#undici");
    // What Bun provides in its place, and what the bundles for Workers contain, cannot dispatch.
    return typeof fieldOf(undici.Agent?.prototype, "dispatch") === "function" ? undici : undefined;
  } catch (error) {
    warn(`requests are sent with fetch, because undici could not be loaded (${messageOf(error)})`);
    return undefined;
  }
}

function tlsVersionOf(socket: object): string | undefined {
  const getProtocol = fieldOf(socket, "getProtocol");
  return typeof getProtocol === "function" ? String(getProtocol.call(socket)) : undefined;
}
