import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import type { Page } from "stocklot";
import type { SandboxOptions } from "stocklot/sandbox";
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

/** A service that changes every page of a list. */
const withPages = (
  path: string,
  change: (page: Page<unknown>) => Partial<Page<unknown>>,
  options: SandboxOptions = {},
) =>
  serveOddly(
    {
      changeResponse: async (response, requestPath) => {
        if (!requestPath.endsWith(path)) return response;
        const page: Page<unknown> = JSON.parse(await response.text());
        return new Response(JSON.stringify({ ...page, ...change(page) }), response);
      },
    },
    options,
  );

/** A service with another header in the responses of a list. */
const withListHeader = (path: string, name: string, value: string) =>
  serveOddly({
    changeResponse: (response, requestPath) =>
      requestPath.endsWith(path) ? withHeaders(response, (headers) => headers.set(name, value)) : response,
  });

const withoutSort = (query: URLSearchParams) => {
  query.delete("sort");
  query.delete("direction");
};

/** The number that a service which counts from 1 needs, for one that counts from 0. */
const withPagesFromZero = (query: URLSearchParams) => query.set("page", String(Number(query.get("page") ?? 0) + 1));

const ignoresSort = (list: string) => ["note", list, /sort=\w+&direction=\w+ is ignored/] as const;

const PLANTS: readonly Plant[] = [
  {
    problem: "another version segment",
    env: () =>
      withVariables(({ STOCKLOT_BASE_URL = "" }) => ({ STOCKLOT_BASE_URL: `${STOCKLOT_BASE_URL.slice(0, -1)}9` })),
    findings: [
      [
        "problem",
        "token",
        /POST \/Token: 404 [^\n]*\nCheck the base URL: its version segment is v9, the documented one is v1\.$/,
      ],
    ],
  },
  {
    problem: "a base URL without a version segment",
    env: () =>
      withVariables(({ STOCKLOT_BASE_URL = "" }) => ({ STOCKLOT_BASE_URL: new URL("/", STOCKLOT_BASE_URL).href })),
    findings: [["problem", "token", /POST \/Token: 404 [^\n]*\nCheck the base URL: it has no version segment/]],
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
    findings: [["problem", "TLS", /the certificate expired on \d{4}-\d\d-\d\d.*Ask the operators/s]],
  },
  {
    problem: "a certificate of an unknown authority",
    env: () => serveOddly({ ...(certificates && { tls: certificates.good }) }),
    findings: [["problem", "TLS", /certificate is not trusted.*UNABLE_TO_VERIFY.*NODE_EXTRA_CA_CERTS/s]],
  },
  {
    problem: "a certificate for another host",
    env: async () => ({ ...(await serveOddly({ ...(certificates && { tls: certificates.otherHost }) })), ...trust() }),
    findings: [["problem", "TLS", /certificate is for another host name.*base URL/s]],
  },
  {
    problem: "certificates that are not checked",
    env: async () => ({
      ...(await serveOddly({ ...(certificates && { tls: certificates.good }) })),
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
    }),
    findings: [["note", "TLS", /certificates are not checked.*NODE_TLS_REJECT_UNAUTHORIZED.*NODE_EXTRA_CA_CERTS/s]],
  },
  {
    problem: "a proxy that refuses",
    env: () =>
      withVariables(async () => ({
        STOCKLOT_BASE_URL: "https://stocklot.invalid/api/v1",
        HTTPS_PROXY: await startRefusingProxy(),
      })),
    findings: [["problem", "connection", /the proxy refused to connect.*403.*through the proxy of HTTPS_PROXY\./s]],
  },
  {
    problem: "a proxy that cannot be reached",
    env: () =>
      withVariables(async () => ({
        STOCKLOT_BASE_URL: "https://stocklot.invalid/api/v1",
        HTTPS_PROXY: `http://127.0.0.1:${await freePort()}`,
      })),
    findings: [["problem", "connection", /through the proxy: .*refused.*through the proxy of HTTPS_PROXY\./s]],
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
    problem: "all items forbidden, discontinued ones included",
    env: async () => (await serve({ faults: [{ path: "/Item/All", fault: 403 }] })).env,
    findings: [["problem", "items", /GET \/Item\/All: 403 .*export items and mirror need it/s]],
  },
  {
    problem: "all items missing, discontinued ones included",
    env: async () => (await serve({ faults: [{ path: "/Item/All", fault: 404 }] })).env,
    findings: [["problem", "items", /GET \/Item\/All: 404 .*export items and mirror need it.*Ask the operators/s]],
  },
  {
    problem: "all items unreadable, discontinued ones included",
    env: async () => (await serve({ faults: [{ path: "/Item/All", fault: 500 }] })).env,
    findings: [["problem", "items", /GET \/Item\/All: 500 .*export items and mirror need it/s]],
  },
  {
    problem: "one warehouse that is refused",
    env: async () => (await serve({ faults: [{ path: "/Inventory/1", fault: 403 }] })).env,
    findings: [["note", "warehouses", /GET \/Inventory\/1: 403.*--wid.*mirror --warehouses/s]],
  },
  {
    problem: "warehouses that are all refused",
    env: async () =>
      (await serve({ faults: [1, 2, 3, 4].map((wid) => ({ path: `/Inventory/${wid}`, fault: 403 })) })).env,
    findings: [["problem", "warehouses", /every warehouse.*403.*--wid.*mirror --warehouses/s]],
  },
  {
    problem: "a first page that is the last, although there are more records",
    env: () => withPages("/Item", () => ({ hasMore: false }), { items: 600 }),
    findings: [["problem", "items", /GET \/Item: .*reports \d+ records, but that page 1 .*250 records.* is the last/s]],
  },
  {
    problem: "a first page that is the last, although there are more pages",
    env: () => withPages("/Inventory", ({ value }) => ({ hasMore: false, totalCount: value.length, pageCount: 4 })),
    findings: [
      ["problem", "lots", /GET \/Inventory: .*reports 4 pages, but that page 1 is the last/s],
      ["note", "lots", /X-Total-Count is 2000, but totalCount is 250/],
    ],
  },
  {
    problem: "a first page with every record, although more pages follow",
    env: () => withPages("/Item", () => ({ hasMore: true }), { items: 40 }),
    findings: [["note", "items", /GET \/Item: page 1 contains all \d+ records, but the service reports that more/]],
  },
  {
    problem: "an empty first page, although more pages follow",
    env: () => withPages("/Inventory", () => ({ value: [], hasMore: true })),
    findings: [["problem", "lots", /GET \/Inventory: page 1 is empty, but the service reports that more pages follow/]],
  },
  {
    problem: "more records than totalCount",
    env: () => withPages("/Item", ({ value }) => (value?.length ? { totalCount: 3, pageCount: 1 } : {}), { items: 40 }),
    findings: [
      ["note", "items", /GET \/Item: page 1 contains \d+ records, but totalCount is 3/],
      ["note", "items", /X-Total-Count is \d+, but totalCount is 3/],
    ],
  },
  {
    problem: "a wrong number of pages",
    env: () => withPages("/Inventory", () => ({ pageCount: 7 })),
    findings: [["note", "lots", /GET \/Inventory: pageCount is 7, but 2000 records are 8 pages of 250/]],
  },
  {
    problem: "another total in the header",
    env: () => withListHeader("/Inventory", "x-total-count", "1999"),
    findings: [["note", "lots", /GET \/Inventory: X-Total-Count is 1999, but totalCount is 2000/]],
  },
  {
    problem: "lists that are not labelled as JSON",
    env: () => withListHeader("/Inventory", "content-type", "text/html; charset=utf-8"),
    findings: [["note", "headers", /GET \/Inventory: Content-Type is "text\/html; charset=utf-8", not JSON/]],
  },
  {
    problem: "a lower rate limit",
    env: () => withListHeader("/Inventory", "X-RateLimit-Limit", "10"),
    findings: [["note", "rate limit", /x-ratelimit-limit is 10.*--rate-limit 10/s]],
  },
  {
    problem: "a list that is redirected",
    env: () =>
      serveOddly({
        changeResponse: (response, path) =>
          path.endsWith("/Inventory")
            ? new Response(null, { status: 302, headers: { location: "https://login.example.com/start?token=canary" } })
            : response,
      }),
    findings: [["problem", "lots", /GET \/Inventory: 302 .*redirects to https:\/\/login\.example\.com[^/]/s]],
  },
  {
    problem: "lists that ignore sort and direction",
    env: () => serveOddly({ changeQuery: withoutSort }),
    findings: [
      ignoresSort("items"),
      ignoresSort("lots"),
      ignoresSort("stockLevels"),
      ["note", "lots", /GET \/Inventory: sort=partNo is not honoured/],
    ],
  },
  {
    problem: "lists that ignore sort and direction, of items whose SKUs begin alike",
    env: () =>
      serveOddly(
        { changeQuery: withoutSort },
        {
          items: Array.from({ length: 30 }, (_, index) => ({
            shortID: `SKU-${1_000 + index}`,
            partNo: index + 1,
          })),
          lots: 30,
        },
      ),
    findings: [ignoresSort("items"), ignoresSort("lots"), ignoresSort("stockLevels")],
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
    problem: "a smaller page cap of short lists",
    env: () =>
      serveOddly(
        {
          changeQuery: (query) => {
            if (Number(query.get("pageSize")) > 100) query.set("pageSize", "100");
          },
        },
        { items: 5, lots: 5 },
      ),
    findings: ["items", "lots", "stockLevels"].map(
      (list) => ["note", list, /a page has at most 100 records, not 250.*1 request\./s] as const,
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
    args: ["--timeout", "3s"],
    findings: [["problem", "connection", /GET \/Item: .*3000 ms.* The same: GET \/Item\/All\..*--timeout/s]],
  },
  {
    problem: "one list that does not respond",
    env: async () =>
      (
        await serve({
          faults: [
            { path: "/Inventory", fault: "hang" },
            { path: "/Inventory/StockLevels", fault: 403 },
          ],
        })
      ).env,
    args: ["--timeout", "3s"],
    findings: [
      ["problem", "connection", /GET \/Inventory: .*3000 ms[^\n]*[^.]\.\n.*--timeout/s],
      ["problem", "stockLevels", /GET \/Inventory\/StockLevels: 403/],
    ],
  },
  {
    problem: "lists whose connections break",
    env: async () => (await serve({ faults: [{ path: "/I*", fault: "drop" }] })).env,
    findings: [
      [
        "problem",
        "connection",
        /GET \/Item: .* The same: GET \/Inventory, GET \/Inventory\/StockLevels, GET \/Item\/All\./,
      ],
    ],
  },
  {
    problem: "a service that redirects everything",
    env: () =>
      serveOddly({
        changeResponse: () =>
          new Response(null, { status: 302, headers: { location: "https://sso.example.com/canary?token=canary" } }),
      }),
    findings: [
      [
        "problem",
        "service",
        /^POST \/Token: 302 [^\n]*\nThe service redirects to https:\/\/sso\.example\.com\. The client follows no redirect\. Check the base URL\.$/,
      ],
    ],
  },
  {
    problem: "lists that are all redirected to another path",
    env: () =>
      serveOddly({
        changeResponse: (response, path) =>
          path.endsWith("/Token")
            ? response
            : new Response(null, { status: 307, headers: { location: "/login?return=canary" } }),
      }),
    findings: [
      [
        "problem",
        "items",
        /^GET \/Item: 307 .* The same: GET \/Inventory, GET \/Inventory\/StockLevels\.\nThe service redirects to http:\/\/localhost:\d+\/login\. /,
      ],
    ],
  },
  {
    problem: "lists that are all missing",
    env: async () => (await serve({ faults: [{ path: "/I*", fault: 404 }] })).env,
    findings: [
      ["problem", "items", /^GET \/Item: 404 .* The same: GET \/Inventory, [^\n]*\nCheck the host and the path/],
    ],
  },
  {
    problem: "dates of another form",
    env: () =>
      serveOddly({
        changeResponse: async (response, path) => {
          if (!/\/(Item|Inventory)$/.test(path)) return response;
          const text = await response.text();
          return new Response(text.replace(/"(received|modified)":"[^"]*"/g, '"$1":"21/11/2026 10:00"'), response);
        },
      }),
    findings: [
      [
        "problem",
        "dates",
        /not ISO 8601: modified of GET \/Item \("21\/11\/2026 10:00", in 2\d\d records\), received of GET \/Inventory/,
      ],
    ],
  },
  {
    problem: "a totalCount that is always that of the whole list",
    env: () => withPages("/Inventory", ({ value }) => (value.length === 0 ? { totalCount: 2_000 } : {})),
    findings: [
      ["note", "lots", /GET \/Inventory: with modifiedSince there is no record, but totalCount is 2000.*totalCount/s],
    ],
  },
  {
    problem: "bodies that are compressed without saying so",
    env: () =>
      serveOddly({
        changeResponse: async (response, path) =>
          path.endsWith("/Token") ? response : new Response(gzipSync(await response.text()), response),
      }),
    findings: [
      [
        "problem",
        "items",
        /^GET \/Item: the response is compressed with gzip, but has no header content-encoding\.? The same: [^\n]*\nAsk the operators/,
      ],
    ],
  },
  {
    problem: "a token that is compressed without saying so",
    env: () =>
      serveOddly({ changeResponse: async (response) => new Response(gzipSync(await response.text()), response) }),
    findings: [
      ["problem", "service", /^POST \/Token: the response is compressed with gzip, but .*\nAsk the operators/s],
    ],
  },
  {
    problem: "another version of the service",
    env: () =>
      serveOddly({
        changeResponse: (response, path) =>
          path.endsWith("/Token") ? response : withHeaders(response, (headers) => headers.set("x-api-version", "v2")),
      }),
    findings: [["note", "headers", /X-API-Version is v2, not v1.*version segment/s]],
  },
  {
    problem: "pages that are counted from 0, of a long list",
    env: () => serveOddly({ changeQuery: withPagesFromZero }, { items: 600 }),
    findings: [["problem", "pages", /GET \/Item: pages are counted from 0.*begins with page 1/s]],
  },
  {
    problem: "pages that are counted from 0, of a short list",
    env: () => serveOddly({ changeQuery: withPagesFromZero }, { items: 40, lots: 40 }),
    findings: [["problem", "pages", /GET \/Item: pages are counted from 0/]],
  },
  {
    problem: "a first page that is reported as page 0",
    env: () => withPages("/Item", ({ page }) => ({ page: page - 1 })),
    findings: [["problem", "pages", /GET \/Item: page 1 is reported as page 0/]],
  },
  {
    problem: "a record that is twice on a page",
    env: () => withPages("/Inventory", ({ value }) => ({ value: [...value.slice(0, 1), ...value.slice(0, -1)] })),
    findings: [["note", "lots", /GET \/Inventory: recNo \d+ is twice on page 1/]],
  },
  {
    problem: "two records of one key",
    env: () =>
      withPages("/Inventory", ({ value }) => ({
        value: [...value.slice(0, 1).map((lot) => ({ ...Object(lot), spot: "X" })), ...value.slice(0, -1)],
      })),
    findings: [["problem", "lots", /GET \/Inventory: recNo \d+ is twice on page 1, with different values/]],
  },
  {
    problem: "one slow list",
    env: () => {
      let isSlow = true;
      return serveOddly({
        changeResponse: async (response, path) => {
          if (isSlow && path.endsWith("/StockLevels")) {
            isSlow = false;
            await sleep(2_100);
          }
          return response;
        },
      });
    },
    findings: [["note", "latency", /slowest 2\d\d\d ms \(GET \/Inventory\/StockLevels\).*--timeout/s]],
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
      err: expect.stringMatching(/^(\d+ of about 15 requests\n)*$/),
    });
    expect(out).not.toContain(env.STOCKLOT_CLIENT_SECRET);
    expect(out).not.toContain("canary");
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
