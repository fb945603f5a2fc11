import { createServer } from "node:http";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Finding } from "../../src/command/doctor/finding.js";
import { type Certificates, createCertificates } from "../support/certificates.js";
import { freePort } from "../support/free-port.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { sleep } from "../support/with-server.js";
import { serveOddly, withHeaders } from "./support/odd-service.js";
import { run, serve } from "./support/run-command.js";

const certificates: Certificates | undefined = RUN_ALL ? createCertificates() : undefined;
afterAll(() => certificates?.remove());

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

type Env = Record<string, string>;

/** A problem, and everything that the doctor reports about it beside `ok`. */
interface Plant {
  problem: string;
  env: () => Promise<Env>;
  args?: string[];
  findings: readonly (readonly [verdict: Finding["verdict"], aspect: string, text: RegExp])[];
}

const healthy = async (): Promise<Env> => (await serve()).env;
const withVariables = async (change: (env: Env) => Env | Promise<Env>): Promise<Env> => {
  const env = await healthy();
  return { ...env, ...(await change(env)) };
};

/** A proxy that permits no tunnel. */
async function startRefusingProxy(): Promise<string> {
  const proxy = createServer().on("connect", (_, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"));
  const port = await freePort();
  await new Promise<void>((resolve) => proxy.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  return `http://127.0.0.1:${port}`;
}

/** The certificates of these tests are valid for two days. */
const EXPIRES_SOON = ["note", "TLS", /certificate valid until .*expires soon/s] as const;

const PLANTS: readonly Plant[] = [
  {
    problem: "another version segment",
    env: () =>
      withVariables(({ STOCKLOT_BASE_URL = "" }) => ({ STOCKLOT_BASE_URL: `${STOCKLOT_BASE_URL.slice(0, -1)}9` })),
    findings: [["problem", "token", /POST \/Token: 404 .*version segment/s]],
  },
  {
    problem: "a base URL without a version segment",
    env: () =>
      withVariables(({ STOCKLOT_BASE_URL = "" }) => ({ STOCKLOT_BASE_URL: new URL("/", STOCKLOT_BASE_URL).href })),
    findings: [["problem", "token", /POST \/Token: 404 .*version segment/s]],
  },
  {
    problem: "a host that does not exist",
    env: () => withVariables(() => ({ STOCKLOT_BASE_URL: "https://stocklot.invalid/api/v1" })),
    findings: [["problem", "connection", /stocklot\.invalid.*Check the base URL/s]],
  },
  {
    problem: "a port where nothing listens",
    env: () => withVariables(async () => ({ STOCKLOT_BASE_URL: `http://127.0.0.1:${await freePort()}/api/v1` })),
    findings: [["problem", "connection", /refused|ECONNREFUSED/]],
  },
  {
    problem: "a wrong secret",
    env: () => withVariables(() => ({ STOCKLOT_CLIENT_SECRET: "wrong-canary" })),
    findings: [["problem", "token", /POST \/Token: 401 .*client secret/s]],
  },
  {
    problem: "an expired certificate",
    env: async () => ({ ...(await serveOddly({ ...(certificates && { tls: certificates.expired }) })), ...trust() }),
    findings: [
      ["problem", "TLS", /the certificate expired on \d{4}-\d\d-\d\d/],
      ["problem", "connection", /expired/],
    ],
  },
  {
    problem: "a certificate of an unknown authority",
    env: () => serveOddly({ ...(certificates && { tls: certificates.good }) }),
    findings: [EXPIRES_SOON, ["problem", "connection", /certificate.*NODE_EXTRA_CA_CERTS/s]],
  },
  {
    problem: "a certificate for another host",
    env: async () => ({ ...(await serveOddly({ ...(certificates && { tls: certificates.otherHost }) })), ...trust() }),
    findings: [EXPIRES_SOON, ["problem", "connection", /certificate is for another host name/]],
  },
  {
    problem: "a proxy that refuses",
    env: () =>
      withVariables(async () => ({
        STOCKLOT_BASE_URL: "https://stocklot.invalid/api/v1",
        HTTPS_PROXY: await startRefusingProxy(),
      })),
    findings: [["problem", "connection", /proxy http:\/\/127\.0\.0\.1:\d+ \(HTTPS_PROXY\).*403/s]],
  },
  {
    problem: "a proxy that cannot be reached",
    env: () =>
      withVariables(async () => ({
        STOCKLOT_BASE_URL: "https://stocklot.invalid/api/v1",
        HTTPS_PROXY: `http://127.0.0.1:${await freePort()}`,
      })),
    findings: [["problem", "connection", /proxy http:\/\/127\.0\.0\.1:\d+ \(HTTPS_PROXY\)/]],
  },
  {
    problem: "a clock that is 10 minutes off",
    env: async () => (await serve({ now: () => Date.now() + 600_000 })).env,
    findings: [["note", "clock", /(600|599|601) s ahead of this machine's.*NTP/s]],
  },
  {
    problem: "a list that is forbidden",
    env: async () => (await serve({ faults: [{ path: "/Inventory/StockLevels", fault: 403 }] })).env,
    findings: [["problem", "stockLevels", /GET \/Inventory\/StockLevels: 403 .*Ask the operators/s]],
  },
  {
    problem: "lists that ignore sort and direction",
    env: () =>
      serveOddly({
        changeQuery: (query) => {
          query.delete("sort");
          query.delete("direction");
        },
      }),
    findings: [
      ["note", "items", /sort=shortID&direction=DESC is ignored/],
      ["note", "lots", /sort=recNo&direction=ASC is ignored/],
      ["note", "stockLevels", /sort=partNo&direction=DESC is ignored/],
    ],
  },
  {
    problem: "lists that ignore modifiedSince",
    env: async () => (await serve({ modifiedSinceOn: [] })).env,
    findings: ["items", "lots", "stockLevels"].map(
      (list) => ["note", list, /modifiedSince is ignored.*--since/s] as const,
    ),
  },
  {
    problem: "a smaller page cap",
    env: () =>
      serveOddly({
        changeQuery: (query) => {
          if (Number(query.get("pageSize")) > 50) query.set("pageSize", "50");
        },
      }),
    findings: ["items", "lots", "stockLevels"].map(
      (list) => ["note", list, /a page has at most 50 records, not 250.*\d+ requests/s] as const,
    ),
  },
  {
    problem: "missing X- headers",
    env: () =>
      serveOddly({
        changeResponse: (response) =>
          withHeaders(response, (headers) => {
            for (const name of ["x-page", "x-api-version"]) headers.delete(name);
          }),
      }),
    findings: [["note", "headers", /missing: x-page, x-api-version/]],
  },
  {
    problem: "records that are not as documented",
    env: () =>
      serveOddly({
        changeResponse: async (response, path) => {
          if (!path.endsWith("/Inventory")) return response;
          const text = await response.text();
          return new Response(text.replace(/"units":[\d.]+/, '"units":"many"'), response);
        },
      }),
    findings: [["problem", "responses", /GET \/Inventory: .*units.*responseValidation/s]],
  },
  {
    problem: "a slow service",
    env: () =>
      serveOddly({
        changeResponse: async (response, path) => {
          if (!path.endsWith("/Token")) await sleep(2_100);
          return response;
        },
      }),
    findings: [["note", "latency", /median 2\d\d\d ms.*--timeout/s]],
  },
  {
    problem: "a service that does not respond",
    env: async () => (await serve({ faults: [{ path: "/Item*", fault: "hang" }] })).env,
    args: ["--timeout", "500ms"],
    findings: [["problem", "connection", /GET \/Item: .*500 ms.*--timeout/s]],
  },
  {
    problem: "a login page",
    env: () =>
      serveOddly({
        changeResponse: () => new Response("<html>Sign in</html>", { headers: { "content-type": "text/html" } }),
      }),
    findings: [["problem", "service", /POST \/Token: .*Check the base URL/s]],
  },
  {
    problem: "a service that is down",
    env: async () => (await serve({ faults: [{ path: "*", fault: 503 }] })).env,
    findings: [["problem", "service", /POST \/Token: 503 .*Try again later/s]],
  },
];

const trust = (): Env => ({ NODE_EXTRA_CA_CERTS: certificates?.authorityFile ?? "" });

describe("stocklot doctor finds", () => {
  it.each(PLANTS.map((plant) => [plant.problem, plant] as const))("%s", async (_, {
    env: plant,
    args = [],
    findings,
  }) => {
    const env = await plant();
    const { code, out, err } = await run(["doctor", "--json", ...args], env);
    const found: Finding[] = JSON.parse(out).findings.filter(({ verdict }: Finding) => verdict !== "ok");
    const text = ({ summary, hint }: Finding) => `${summary}\n${hint}`;
    expect(found.map((finding) => [finding.verdict, finding.aspect, text(finding)])).toEqual(
      findings.map(([verdict, aspect, message]) => [verdict, aspect, expect.stringMatching(message)]),
    );
    expect({ code, err }).toEqual({
      code: findings.some(([verdict]) => verdict === "problem") ? 1 : 0,
      // Progress, every ten seconds.
      err: expect.stringMatching(/^(\d+ of about 10 requests\n)*$/),
    });
    expect(out).not.toContain(env.STOCKLOT_CLIENT_SECRET);
  });

  it("nothing on a healthy service, over http and https", async () => {
    const tls = await serveOddly({ ...(certificates && { tls: certificates.good }) });
    for (const env of [await healthy(), { ...tls, ...trust() }]) {
      const { code, out } = await run(["doctor", "--json"], env);
      const notOk = JSON.parse(out).findings.filter(
        ({ verdict, aspect }: Finding) => verdict !== "ok" && aspect !== "TLS",
      );
      expect({ code, notOk }).toEqual({ code: 0, notOk: [] });
    }
  });
});
