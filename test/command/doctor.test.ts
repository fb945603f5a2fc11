import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Finding } from "../../src/command/doctor/finding.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { run, serve } from "./support/run-command.js";

interface Printed {
  findings: Finding[];
}

async function diagnose(env: Record<string, string>, ...args: string[]) {
  const { code, out, err } = await run(["doctor", "--json", ...args], env);
  const printed: Printed = out === "" ? { findings: [] } : JSON.parse(out);
  const problems = printed.findings.filter(({ verdict }) => verdict === "problem");
  const notes = printed.findings.filter(({ verdict }) => verdict === "note");
  return { code, err, ...printed, problems, notes };
}

/** A token response without its lifetime, like every other response as it is. */
const withoutLifetime = async (response: Response, request: Request) =>
  request.url.endsWith("/Token") && response.ok
    ? Response.json({ ...Object(await response.json()), expires_in: undefined })
    : response;

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

describe("stocklot doctor", () => {
  it("reports no problem on a healthy service, and sends about 15 requests and no write", async () => {
    const { sandbox, env } = await serve();
    const { code, problems, notes, err } = await diagnose(env);
    expect({ code, problems, notes, err }).toEqual({ code: 0, problems: [], notes: [], err: "" });
    const sent = sandbox.requests.map(({ method, path }) => `${method} ${path}`);
    expect(sent.filter((request) => request.startsWith("GET")).length).toBeLessThanOrEqual(15);
    expect(sent.length).toBeLessThanOrEqual(16);
    expect(sent.filter((request) => !request.startsWith("GET"))).toEqual(["POST /Token"]);
  });

  it("prints findings for people, without colours in a pipe", async () => {
    const { env } = await serve();
    const { code, out } = await run(["doctor"], env);
    expect(code).toBe(0);
    expect(out).toMatch(/^✓ items: GET \/Item: \d+ records$/m);
    // The Date header of the same machine is up to a second behind.
    expect(out).toMatch(/^✓ clock: the service's clock agrees with this machine's$/m);
    expect(out).toMatch(/\nNo problems\.\n$/);
    expect(out).not.toContain("\u001b");
  });

  it.each([
    ["a wrong secret", { STOCKLOT_CLIENT_SECRET: "wrong" }, "token", /credentials/i],
    ["a base URL without the version segment", "no-version", "token", /version segment/],
    [
      "a port where nothing listens",
      { STOCKLOT_BASE_URL: "http://127.0.0.1:1/api/v1" },
      "connection",
      /ECONNREFUSED|refused/,
    ],
  ] as const)("finds %s", async (_, change, aspect, message) => {
    const { env } = await serve();
    const changed =
      change === "no-version" ? { STOCKLOT_BASE_URL: env.STOCKLOT_BASE_URL?.replace("/api/v1", "") ?? "" } : change;
    const { code, problems } = await diagnose({ ...env, ...changed });
    expect(code).toBe(1);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ aspect });
    expect(`${problems[0]?.summary} ${problems[0]?.hint}`).toMatch(message);
    expect(JSON.stringify(problems)).not.toContain(env.STOCKLOT_CLIENT_SECRET);
  });

  it("finds missing permissions, and still examines the rest", async () => {
    const { env } = await serve({
      clients: [{ clientId: "c", clientSecret: "secret-of-c", permissions: [] }],
    });
    const { code, problems } = await diagnose(env);
    expect(code).toBe(1);
    expect(problems.map(({ aspect }) => aspect)).toEqual(["items", "lots", "stockLevels"]);
    expect(problems[0]?.hint).toContain("permission");
  });

  it("finds responses that are not as documented", async () => {
    const { env } = await serve({
      faults: [{ path: "/Inventory", fault: { type: "status", status: 200, body: { value: 1 } } }],
    });
    const { code, problems } = await diagnose(env);
    expect(code).toBe(1);
    expect(problems.map(({ aspect }) => aspect)).toContain("lots");
  });

  it("ends at a 429, and concludes nothing else from it", async () => {
    const { env } = await serve({ rateLimit: { requests: 3 } });
    const { code, problems, notes } = await diagnose(env);
    expect(code).toBe(1);
    expect(problems.map(({ aspect }) => aspect)).toEqual(["rate limit"]);
    expect(problems[0]?.hint).toContain("same limit");
    expect(notes).toEqual([]);
  });

  it("notes how a service differs, and what follows", async () => {
    const { env } = await serve({
      modifiedSinceOn: ["items"],
      rewrite: withoutLifetime,
      now: () => Date.now() - 3_600_000,
    });
    const { code, notes } = await diagnose(env);
    expect(code).toBe(0);
    expect(notes.map(({ aspect }) => aspect).sort()).toEqual(["clock", "lots", "stockLevels", "token"]);
  });

  it("reports no successful connection if there is none", async () => {
    const { findings } = await diagnose({
      ...(await serve()).env,
      STOCKLOT_BASE_URL: "http://127.0.0.1:1/api/v1",
    });
    expect(findings.map(({ aspect, verdict }) => `${verdict} ${aspect}`)).toEqual(["problem connection"]);
  });

  it.each([
    ["https_proxy", "http://user:canary-password@proxy.example/path"],
    ["HTTPS_PROXY", "ftp://user:canary-password@proxy.example"],
  ])("finds that %s is not the address of a proxy", async (variable, address) => {
    const { env } = await serve();
    const { code, problems, err } = await diagnose({
      ...env,
      STOCKLOT_BASE_URL: "https://localhost:1/api/v1",
      [variable]: address,
    });
    expect({ code, err }).toEqual({ code: 1, err: "" });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ aspect: "connection", summary: expect.stringContaining(variable) });
    expect(JSON.stringify(problems)).not.toContain("canary-password");
  });

  it("names the variable of the proxy that the library uses: entries of NO_PROXY may have a port", async () => {
    const proxied = {
      STOCKLOT_BASE_URL: "https://localhost:1/api/v1",
      HTTPS_PROXY: "user:canary-password@127.0.0.1:2",
    };
    const { env } = await serve();
    const through = await diagnose({ ...env, ...proxied, NO_PROXY: "localhost:9" });
    expect(through.problems[0]?.hint).toContain("Tried: localhost:1 through the proxy of HTTPS_PROXY.");
    const direct = await diagnose({ ...env, ...proxied, NO_PROXY: "localhost:1" });
    expect(direct.problems[0]?.hint).toContain("Tried: localhost:1, without a proxy.");
  });

  it("says which setting is missing", async () => {
    const { code, err } = await run(["doctor"], {});
    expect(code).toBe(2);
    expect(err).toMatch(/^stocklot: .*STOCKLOT_BASE_URL/);
    expect(err).not.toContain("    at ");
  });

  it("names settings as the library does, and says what sets them", async () => {
    const none = await run(["doctor"], {});
    expect(none.err).toBe(`stocklot: \
baseUrl is required (or the environment variable STOCKLOT_BASE_URL); \
clientId is required (or the environment variable STOCKLOT_CLIENT_ID); \
clientSecret is required (or the environment variable STOCKLOT_CLIENT_SECRET). For example:
  export STOCKLOT_BASE_URL=https://inventory.example.com/api/v1
  export STOCKLOT_CLIENT_ID=my-client
  export STOCKLOT_CLIENT_SECRET=...
Here, baseUrl is set by --base-url, clientId by --client-id, clientSecret by --client-secret-file.
`);
    const { env } = await serve();
    const http = await run(["doctor", "--base-url", "http://inventory.example.com/api/v1"], env);
    expect(http).toMatchObject({
      code: 2,
      err: "stocklot: baseUrl must begin with https:, since http: sends the secret unencrypted. To allow http:, set allowInsecureHttp.\nHere, baseUrl is set by --base-url, allowInsecureHttp by --allow-insecure-http.\n",
    });
    const noUrl = await run(["doctor", "--base-url", "inventory"], env);
    expect(noUrl).toMatchObject({
      code: 2,
      err: "stocklot: baseUrl must be a URL, such as https://host/api/v1.\nHere, baseUrl is set by --base-url.\n",
    });
  });
});

describe("the client secret", () => {
  it.each([
    ["doctor", "--client-secret=canary-secret"],
    ["doctor", "--client-secret", "canary-secret"],
    ["doctor", "--clientSecret=canary-secret"],
    ["doctor", "--client-secretcanary-secret"],
    ["doctor", "--client-secret-canary=secret"],
    ["doctor", "--client-secret=canary'secret\n(Did you mean canary?)"],
    ["export", "items", "--client-secret=canary-secret"],
    ["import", "--client-secret", "canary-secret", "file.csv"],
    ["mirror", "--client-secret=canary-secret"],
    ["sandbox", "--client-secret=canary-secret"],
    ["--client-secret=canary-secret", "doctor"],
    ["--client-secret", "canary-secret", "doctor"],
  ])("is refused as an argument, and not shown: %s %s", async (...args) => {
    const { code, out, err } = await run(args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(
      /^error: unknown option '--client-?[sS]ecret': the secret must not be an argument, since others can see it\. Use STOCKLOT_CLIENT_SECRET or --client-secret-file\.\n/,
    );
    expect(err).not.toContain("canary");
  });

  it("no value of an unknown option is shown", async () => {
    const { code, err } = await run(["doctor", "--base-uri=https://user:canary@example.com/'(x)'"]);
    expect(code).toBe(2);
    expect(err).toMatch(/^error: unknown option '--base-uri'\n/);
    expect(err).not.toContain("canary");
  });

  it("may begin with a byte order mark and end with line breaks in a file, and end with one in the variable", async () => {
    const { env } = await serve();
    const { STOCKLOT_CLIENT_SECRET: secret = "", ...others } = env;
    const file = secretFile(`\uFEFF${secret}\r\n\n`);
    const fromFile = await diagnose(others, "--client-secret-file", file);
    expect(fromFile).toMatchObject({ code: 0, problems: [] });
    const fromVariable = await diagnose({ ...env, STOCKLOT_CLIENT_SECRET: `${secret}\n` });
    expect(fromVariable).toMatchObject({ code: 0, problems: [] });
  });

  it.each(["", "\uFEFF", "\n"])("must not be an empty file: %j", async (text) => {
    const { env } = await serve();
    const file = secretFile(text);
    const { code, err } = await run(["doctor", "--client-secret-file", file], env);
    expect({ code, err }).toEqual({ code: 2, err: `stocklot: --client-secret-file: ${file} is empty.\n` });
  });

  it.each([
    ["missing/secret", "no such file or folder. Check the path."],
    [".", "it is a folder, not a file. Check the path."],
  ])("must be a file that can be read: %s", async (path, problem) => {
    const { env } = await serve();
    const { code, err } = await run(["doctor", "--client-secret-file", path], env, tmpdir());
    expect({ code, err }).toEqual({ code: 2, err: `stocklot: --client-secret-file: ${path}: ${problem}\n` });
  });
});

function secretFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "stocklot-secret-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "secret");
  writeFileSync(file, text);
  return file;
}
