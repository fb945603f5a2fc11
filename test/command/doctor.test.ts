import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { CHECKS, type Finding } from "../../src/command/doctor/checks.js";
import { probeService } from "../../src/command/doctor/probe.js";
import { RUN_ALL } from "../support/runs.js";
import { commandFiles, run, serve } from "./support/run-command.js";

/** Returns what the doctor finds about a service, and the requests that it sends. */
async function examine(options: SandboxOptions = {}, connection: { baseUrl?: string; clientSecret?: string } = {}) {
  const sandbox = createSandbox({ rateLimit: false, ...options });
  const { baseUrl, credentials, fetch, requests } = sandbox;
  const given = { baseUrl, ...credentials, fetch, ...connection };
  const probe = await probeService(given, new AbortController().signal, () => {});
  const findings = CHECKS.flatMap((check) => check(probe));
  const shown = (verdict: Finding["verdict"]) =>
    findings.filter((finding) => finding.verdict === verdict).map(({ aspect, summary }) => `${aspect}: ${summary}`);
  return { requests, findings, problems: shown("problem"), notes: shown("note") };
}

/** Changes the body of each successful response to a request whose path ends with `path`. */
const withBody =
  (path: string, change: (body: Record<string, unknown>) => object): NonNullable<SandboxOptions["rewrite"]> =>
  async (response, request) =>
    new URL(request.url).pathname.endsWith(path) && response.ok
      ? Response.json(change(Object(await response.json())), response)
      : response;

const emptyForDates: SandboxOptions["rewrite"] = async (response, { url }) =>
  url.includes("modifiedSince")
    ? Response.json({ ...Object(await response.json()), value: [], totalCount: 0, hasMore: false })
    : response;

type Noted = [string, SandboxOptions, RegExp[]];

describe("the ten checks", () => {
  it("find nothing on a healthy service, in at most 15 requests, without a write or a wrong password", async () => {
    const { problems, notes, requests, findings } = await examine();
    expect({ problems, notes }).toEqual({ problems: [], notes: [] });
    expect(requests.length).toBeLessThanOrEqual(15);
    expect(requests.filter(({ method }) => method !== "GET").map(({ path }) => path)).toEqual(["/Token"]);
    expect(new Set(findings.map(({ aspect }) => aspect)).size).toBe(12);
  });

  it.each<[string, SandboxOptions, Finding["verdict"], string]>([
    ["of three pages", { items: 600 }, "ok", '"not listed" costs 4 requests at most'],
    ["in an order of its own", { items: 5_000 }, "ok", '"not listed" costs about 8 requests, later ones 3'],
    [
      "that cannot be sorted",
      { items: 5_000, sortOn: ["items", "lots"] },
      "note",
      '"not listed" costs 7 requests, the whole list',
    ],
  ])("say what 'not listed' costs in a list %s", async (_, options, verdict, summary) => {
    const { findings } = await examine(options);
    const said = findings.filter((finding) => finding.summary.includes("not listed"));
    expect(said.map((finding) => [finding.aspect, finding.verdict, finding.summary])).toEqual([
      ["sort", verdict, summary],
    ]);
  });

  const secret = "canary-secret";
  it.each<[string, SandboxOptions, RegExp[], { baseUrl?: string; clientSecret?: string }?]>([
    ["a wrong secret", {}, [/^token: POST \/Token: 401/], { clientSecret: secret }],
    ["no version segment", {}, [/^token: POST \/Token: 404/], { baseUrl: "https://stocklot-sandbox.test" }],
    [
      "no permission",
      { clients: [{ clientId: "c", clientSecret: secret, permissions: [] }] },
      [/^items: GET \/Item: 403/, /^lots: /, /^stockLevels: /, /^all items: /],
    ],
    ["the rate limit", { rateLimit: { requests: 3 } }, [/^rate limit: /]],
    [
      "a list of another shape",
      { faults: [{ path: "/Inventory", fault: { type: "status", status: 200, body: {} } }] },
      [/^lots: GET \/Inventory: /],
    ],
    [
      "an empty page, and more behind it",
      { rewrite: withBody("/Inventory", (page) => ({ ...page, value: [], hasMore: true })) },
      [/^lots: GET \/Inventory: the first page is empty/],
    ],
    [
      "a list that cannot be reached",
      { faults: [{ path: "/Inventory/StockLevels", fault: "drop" }] },
      [/^stockLevels: /],
    ],
    ["no /Item/All", { faults: [{ path: "/Item/All", fault: 404 }] }, [/^all items: GET \/Item\/All: 404/]],
    [
      "no warehouse",
      { faults: [{ path: /^\/Inventory\/\d/, fault: 403 }] },
      [/^warehouses: none can be read \(1, 2, 3\)/],
    ],
  ])("find %s", async (_name, options, expected, connection) => {
    const { problems, findings } = await examine(options, connection);
    expect(problems).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
    expect(findings.every(({ verdict, hint }) => verdict !== "problem" || hint)).toBe(true);
    expect(JSON.stringify(findings)).not.toContain(secret);
  });

  it.each<Noted>([
    [
      "modifiedSince ignored",
      { modifiedSinceOn: ["items"] },
      [/^modifiedSince: lots: ignored/, /^modifiedSince: stockL/],
    ],
    [
      "an empty list for every date",
      { rewrite: emptyForDates },
      [
        /^modifiedSince: items: an empty list for every date/,
        /^modifiedSince: lots: an empty/,
        /^modifiedSince: stockL/,
      ],
    ],
    ["sort ignored", { sortOn: ["items", "lots"] }, [/^sort: stockLevels: sort=partNo is ignored/]],
    [
      "a clock behind",
      { now: () => Date.now() - 3_600_000 },
      [/^clock: the service's clock is 3(599|600|601) s behind/],
    ],
    [
      "no lifetime",
      { rewrite: withBody("/Token", (token) => ({ ...token, expires_in: undefined })) },
      [/^token: granted, without/],
    ],
    ["a short lifetime", { tokenTtlSeconds: 20 }, [/^token: granted, valid for 20 s/]],
    [
      "a small page cap",
      { rewrite: withBody("/Item", (page) => ({ ...page, pageSize: 100 })) },
      [/^page size: 100 records/],
    ],
    ["one warehouse refused", { faults: [{ path: "/Inventory/2", fault: 403 }] }, [/^warehouses: cannot be read: 2: /]],
    // It takes half a minute.
    ...(RUN_ALL ? [["slow responses", { latencyMs: 2_100, items: 1, lots: 0 }, [/^latency: /]] satisfies Noted] : []),
  ])(
    "note %s",
    async (_name, options, expected) => {
      const { problems, notes } = await examine(options);
      expect(problems).toEqual([]);
      expect(notes).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
    },
    60_000,
  );
});

describe("stocklot doctor", () => {
  const fileNamed = commandFiles();

  it("prints findings for people and for programs, and control characters of neither", async () => {
    const message = "No\u001b[2J\u001b]0;owned\u0007 access";
    const body = { statusCode: 403, error: "forbidden", message };
    const { env } = await serve({ faults: [{ path: "/Inventory", fault: { type: "status", status: 403, body } }] });
    const { code, out } = await run(["doctor"], env);
    expect(code).toBe(1);
    expect(out).toMatch(/^✓ items: GET \/Item: \d+ records$/m);
    expect(out).toMatch(/\n1 problem\n$/);
    expect(out).not.toContain("\u001b");
    const { findings } = JSON.parse((await run(["doctor", "--json"], env)).out);
    expect(findings).toContainEqual({ aspect: "token", verdict: "ok", summary: expect.stringMatching(/^granted/) });
  });

  it("names the proxy of a failed connection, without its password", async () => {
    const { env } = await serve();
    const proxied = {
      STOCKLOT_BASE_URL: "https://localhost:1/api/v1",
      HTTPS_PROXY: "http://user:canary-password@127.0.0.1:2",
    };
    const through = await run(["doctor"], { ...env, ...proxied, NO_PROXY: "localhost:9" });
    expect(through.out).toContain("Tried: localhost:1 through the proxy of HTTPS_PROXY.");
    expect(through.out + through.err).not.toContain("canary-password");
    const direct = await run(["doctor"], { ...env, ...proxied, NO_PROXY: "localhost:1" });
    expect(direct.out).toContain("Tried: localhost:1, without a proxy.");
  });

  it("takes the secret of a file, which may begin with a byte order mark and end with line breaks, or of the variable", async () => {
    const { env } = await serve();
    const { STOCKLOT_CLIENT_SECRET: secret = "", ...others } = env;
    const file = fileNamed("secret", `\uFEFF${secret}\r\n\n`);
    expect(await run(["doctor", "--client-secret-file", file], others)).toMatchObject({ code: 0 });
    expect(await run(["doctor"], { ...env, STOCKLOT_CLIENT_SECRET: `${secret}\n` })).toMatchObject({ code: 0 });
  });
});
