import { expect } from "vitest";

import { createSandbox } from "../../src/sandbox/index.js";
import { freePort } from "../support/free-port.js";

/** The addresses that a program of `consumer/` needs. */
export interface Addresses {
  url: string;
  /** A service that allows five requests per second. */
  limitedUrl: string;
  /** An address at which no server listens. */
  refusedUrl: string;
  credentials: { clientId: string; clientSecret: string };
}

/** Starts the services that the main path runs against. Their faults depend on the path that is requested. */
export async function startServices() {
  const service = createSandbox({
    lots: 600,
    rateLimit: false,
    faults: [
      { method: "POST", path: "/Inventory/Receive", skip: 1, times: 1, fault: "drop-after" },
      { path: "/Cut", fault: "drop" },
      { path: "/Item/1001", times: 1, fault: 503 },
      { path: "/Item/1002", fault: "truncated" },
      { path: "/Hang", fault: "hang" },
    ],
  });
  const limited = createSandbox({ rateLimit: { requests: 5, intervalMs: 1_000 } });
  const servers = [await service.listen(), await limited.listen()] as const;
  const [{ url }, { url: limitedUrl }] = servers;
  const { clientId, clientSecret } = service.credentials;
  const addresses: Addresses = {
    url,
    limitedUrl,
    refusedUrl: `http://127.0.0.1:${await freePort()}/api/v1`,
    credentials: { clientId, clientSecret },
  };
  return {
    addresses,
    /** Expects that the main path was taken, and that no write reached the service twice. */
    expectNothingTwice() {
      const writes = service.requests.filter(({ method, path }) => method === "POST" && path !== "/Token");
      const paths = writes.map(({ path }) => path);
      const count = (path: string) => paths.filter((one) => one === path).length;
      // One receipt succeeds, the response to one is lost, and one is invalid.
      expect(count("/Inventory/Receive")).toBe(3);
      for (const path of ["/Cut", "/Item", "/Inventory/Move", "/Inventory/Issue"]) expect(count(path)).toBe(1);
      // On a busy machine, this call may time out before it is sent.
      expect(count("/Hang")).toBeLessThanOrEqual(1);
      expect(limited.requests.filter(({ status }) => status === 429)).not.toHaveLength(0);
    },
    close: () => Promise.all(servers.map((server) => server.close())),
  };
}
