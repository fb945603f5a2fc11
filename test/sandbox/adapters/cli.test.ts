import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { parseCommand } from "../../../src/sandbox/cli/arguments.js";
import { requestLine } from "../../../src/sandbox/cli/output.js";
import { Caller } from "../support/caller.js";

const CLI = fileURLToPath(new URL("../../../src/sandbox/cli.ts", import.meta.url));
const children: ChildProcessWithoutNullStreams[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

function run(...args: string[]) {
  const child = spawn(process.execPath, ["--import", "tsx", CLI, ...args]);
  children.push(child);
  const output = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    output.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.err += chunk;
  });
  const exited = once(child, "exit").then(([code]) => ({ code, ...output }));
  return { child, output, exited };
}

/** Starts the command and waits until it has printed its greeting. */
async function started(...args: string[]) {
  const { child, output, exited } = run("--port", "0", ...args);
  while (!output.out.includes("CLIENT_SECRET")) {
    if (child.exitCode !== null) throw new Error(`The command ended early: ${output.err}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const variable = (name: string) => new RegExp(`^export ${name}=(\\S+)$`, "m").exec(output.out)?.[1] ?? "";
  const clientId = variable("STOCKLOT_CLIENT_ID");
  const api = new Caller(variable("STOCKLOT_BASE_URL"), { clientId, clientSecret: variable("STOCKLOT_CLIENT_SECRET") });
  return { child, output, exited, api };
}

describe("stocklot-sandbox", () => {
  it("prints variables that work, logs each request, and stops cleanly on Ctrl-C", async () => {
    const { child, output, exited, api } = await started("--lots", "30", "--items", "5", "--rate-limit", "7");
    expect(api.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
    expect((await api.get("/Inventory?pageSize=3")).body.totalCount).toBe(30);
    expect((await api.get("/Nowhere")).status).toBe(404);
    child.kill("SIGINT");
    expect(await exited).toMatchObject({ code: 0, err: "" });
    const lines = output.out.trimEnd().split("\n").slice(4);
    expect(lines).toEqual([
      expect.stringMatching(/^[\d:.]{12} {2}POST {4}200 {2}\/Token {2}6 left$/),
      expect.stringMatching(/GET {5}200 {2}\/Inventory\?pageSize=3 {2}5 left$/),
      expect.stringMatching(/GET {5}404 {2}\/Nowhere {2}4 left$/),
      "# stopped",
    ]);
  });

  it("takes every option", async () => {
    const faults = ["--fault", "POST /Inventory/Receive drop-after times=1", "--fault", "/Item 503 times=1"];
    const { api } = await started(
      "--seed",
      "5",
      "--latency",
      "1-3",
      "--token-ttl",
      "9",
      "--rate-limit",
      "off",
      ...faults,
    );
    expect((await api.requestToken()).body.expires_in).toBe(9);
    expect((await api.get("/Item")).status).toBe(503);
    expect((await api.get("/Item")).status).toBe(200);
    await expect(api.post("/Inventory/Receive", {})).rejects.toThrow("fetch failed");
    expect((await api.post("/Inventory/Receive", {})).status).toBe(400);
  });

  it("can be read-only", async () => {
    const { api } = await started("--read-only");
    expect((await api.post("/Item", { shortID: "A" })).body.message).toBe("Account is read-only.");
  });

  it("reports that the port is taken", async () => {
    const { api } = await started();
    const { port } = new URL(api.baseUrl);
    const { code, err } = await run("--port", port).exited;
    expect(code).toBe(1);
    expect(err).toContain(`Port ${port} is taken.`);
  });

  it("has --help and --version, and refuses unknown options", async () => {
    const [help, version, wrong, senseless] = await Promise.all([
      run("--help").exited,
      run("--version").exited,
      run("--prot", "1").exited,
      run("--fault", "drop times=-1").exited,
    ]);
    expect([help.code, version.code, wrong.code, senseless.code]).toEqual([0, 0, 2, 2]);
    expect(senseless.err).toMatch(/^stocklot-sandbox: .*"faults\[0\].times" must be .*\n$/);
    for (const option of [
      "port",
      "items",
      "lots",
      "seed",
      "latency",
      "rate-limit",
      "token-ttl",
      "read-only",
      "fault",
    ]) {
      expect(help.out).toContain(`--${option}`);
    }
    expect(version.out).toMatch(/^\d+\.\d+\.\d+/);
    expect(wrong.err).toContain("--prot");
  });
});

describe("its arguments", () => {
  const options = (...args: string[]) => {
    const command = parseCommand(args);
    return command.kind === "serve" ? command.options : undefined;
  };

  it("become the options of the sandbox", () => {
    expect(options("--latency", "20-80")?.latencyMs).toEqual([20, 80]);
    expect(options("--latency", "5")?.latencyMs).toBe(5);
    expect(options("--rate-limit", "0")?.rateLimit).toBe(false);
    expect(options("--rate-limit", "50")?.rateLimit).toEqual({ requests: 50 });
    expect(options()?.clients).toEqual([
      { clientId: "sandbox-client", clientSecret: "sandbox-secret", readOnly: false },
    ]);
  });

  it.each([
    ["503", { fault: { type: "status", status: 503 } }],
    ["GET hang", { method: "GET", fault: { type: "hang" } }],
    ["/Item* drop-after", { path: "/Item*", fault: { type: "drop", when: "after" } }],
    ["slow delay=9 chunk=2 skip=1", { skip: 1, fault: { type: "slow", delayMs: 9, chunkBytes: 2 } }],
    ["truncated bytes=7 probability=0.5", { probability: 0.5, fault: { type: "truncated", bytes: 7 } }],
  ])("read the fault %s", (text, rule) => {
    expect(options("--fault", text)?.faults).toEqual([rule]);
  });

  it.each([
    [["--port", "x"], /--port must be an integer/],
    [["--port", "99999"], /--port must be an integer from 0 to 65535, not "99999"/],
    [["--lots", "-1"], /--lots/],
    [["--latency", "9-1"], /--latency/],
    [["--fault", "GET explode"], /"explode" is neither a status nor one of/],
    [["--fault", "hang bytes=1"], /no detail "bytes" for hang/],
    [["--fault", "slow delay=soon"], /is not name=number/],
    [["serve"], /serve/],
  ])("refuse %j", (args, message) => {
    expect(() => parseCommand(args)).toThrow(message);
  });
});

describe("the request log on a terminal", () => {
  const request = { method: "GET", path: "/Item", query: { page: "2" }, body: undefined, clientId: "c", at: 0 };

  it("has colour, and none in a pipe", () => {
    const completed = { ...request, status: 200, remaining: null, fault: undefined };
    expect(requestLine(completed, false)).toBe("00:00:00.000  GET     200  /Item?page=2  no limit");
    expect(requestLine(completed, true)).toContain("\u001b[32m200\u001b[0m");
  });

  it("shows that there was no response, and why", () => {
    const dropped = { ...request, status: null, remaining: 3, fault: "drop" };
    expect(requestLine(dropped, false)).toBe("00:00:00.000  GET     ---  /Item?page=2  3 left  fault: drop");
    expect(requestLine({ ...dropped, status: 404 }, true)).toContain("\u001b[33m404");
  });
});
