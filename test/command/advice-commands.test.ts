import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createOutbox, type OutboxEntryInput, sqliteOutboxStore } from "stocklot/outbox";
import { expect, it, vi } from "vitest";
import { adviceFor } from "../../src/command/mcp.js";
import type { Blank } from "../../src/command/shell.js";
import { commandFiles, type Ended, run, serve } from "./support/run-command.js";

/*
 * These tests run every command that the program advises, in the words into which a shell splits it. The last test fails if a
 * place in the source builds such a command and no test here has run it.
 */

/** The commands that the program has built, each with its call sites in the source. */
const made: { command: string; places: string[] }[] = [];
const reached = new Set<string>();

vi.mock("../../src/command/shell.js", async (original) => {
  const shell = await original<typeof import("../../src/command/shell.js")>();
  function noted(command: string): string {
    const stack = new Error().stack ?? "";
    made.push({ command, places: stack.match(/(?<=src\/command\/)[\w/-]+\.ts:\d+/g) ?? [] });
    return command;
  }
  const { commandLine: ofWords, outboxCommandLine: ofOutbox } = shell;
  return {
    ...shell,
    commandLine: (...words: (string | Blank)[]) => noted(ofWords(...words)),
    outboxCommandLine: (...words: Parameters<typeof ofOutbox>) => noted(ofOutbox(...words)),
  };
});

const file = commandFiles();
/** A key that a shell, or an argument parser, would take for something else. */
const ODD_KEY = "-k 'x' \"$(exit 7)\" <y>";
const OLD = "2026-01-01T00:00:00Z";

/** A service that loses the response to the first issue of A. */
function world() {
  let isLost = false;
  return serve({
    async rewrite(response, request) {
      if (isLost || !request.url.endsWith("/Issue") || !(await request.clone().text()).includes('"A"')) return response;
      isLost = true;
      return new Response("lost", { status: 500 });
    },
    items: [{ shortID: "A" }, { shortID: "B" }],
    lots: [
      { shortID: "A", wID: 1, spot: "x", units: 5, received: OLD },
      { shortID: "B", wID: 1, spot: "x", units: 5, received: OLD, hold: true },
    ],
  });
}

interface Circumstances {
  env: Record<string, string>;
  /** Called before each command. Returns the text for the placeholder `<file>` or `<your outbox>`. */
  blankOf?: (command: string) => string;
  /** A file that is restored after each command. */
  kept?: string;
}

/** Returns the words of a command as a shell splits them, with its placeholders filled in. */
function wordsOf(command: string, blank: string): string[] {
  const filled = command.replaceAll(/<(?:file|your outbox)>/g, blank);
  const script = `stocklot() { printf '%s\\0' "$@"; }; npx() { "$@"; }; ${filled}`;
  return execFileSync("bash", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

/** Runs a command, then each command that its output advises. Returns the advised commands with their exit codes. */
async function runAdvice(args: readonly string[], given: Circumstances): Promise<[string, Ended["code"]][]> {
  made.length = 0;
  const { out, err } = await run(args, given.env);
  return runMade(out + err, given);
}

async function runMade(shown: string, { env, blankOf = () => "", kept }: Circumstances) {
  const ended: [string, Ended["code"]][] = [];
  for (const { command, places } of made.splice(0)) {
    expect(shown).toContain(command);
    for (const place of places) reached.add(place);
    if (kept !== undefined) copyFileSync(kept, `${kept}.kept`);
    const { code } = await run(wordsOf(command, blankOf(command)), env);
    if (kept !== undefined) copyFileSync(`${kept}.kept`, kept);
    ended.push([command.replace(/^(npx )?stocklot /, ""), code]);
  }
  made.length = 0;
  return ended;
}

it("advice about plans can be followed, with the options that were given", async () => {
  const { env } = await world();
  const { STOCKLOT_BASE_URL: url = "", ...others } = env;
  // `others` lacks the base URL, so the advised commands must repeat these options.
  const options = ["--base-url", url, "--timeout", "20s", "--rate-limit", "1000"];
  const repeated = `--base-url ${url} --rate-limit 1000 --timeout 20000ms`;
  const rows = file("rows.csv", "shortID,description\nA,new\n");
  const [plan, before, sheet] = [
    file("my plan.json"),
    file("before.json"),
    file("sheet.csv", "itemID,counted\nA,7\nB,1\n"),
  ];
  const items = await runAdvice(["plan", "items", rows, "--out", plan, ...options], { env: others });
  expect(items).toEqual([[`apply '${plan}' ${repeated}`, 0]]);
  expect((await run(["count", "snapshot", "--wid", "1", "--out", before], env)).code).toBe(0);
  const codes = ["--surplus", "1", "--shortage", "2"];
  const [out, recount] = [file("count.json"), file("again.csv")];
  const count = await runAdvice(
    ["count", "plan", before, sheet, ...codes, ...options, "--out", out, "--recount", recount],
    {
      env: others,
      blankOf(command) {
        if (command.includes(" apply ")) return file("count.db");
        file("again.csv", readFileSync(recount, "utf8").replace(",5,,", ",5,4,"));
        return file("blank.json");
      },
    },
  );
  expect(count).toEqual([
    [`apply ${out} --outbox <file> ${repeated}`, 0],
    [`count snapshot --wid 1 --out <file> ${repeated}`, 0],
    [`count plan <file> ${recount} ${codes.join(" ")} ${repeated}`, 0],
  ]);
});

it("advice about an import can be followed", async () => {
  const { env } = await world();
  const kept = file("import.db");
  const lines = file("my day.csv", "itemID,units,wid,reasonCode\nNO-SUCH,1,1,1\nA,1,1,1\nA,2,1,1\n");
  const importing = ["import", lines, "--outbox", kept, "--settle", "1s", "--timeout", "1s"];
  const again = `import '${lines}' --outbox ${kept} --settle 1s --timeout 1s`;
  const ended = await runAdvice([...importing, "--operation", "issue"], { env, kept });
  expect(ended).toEqual([
    [`outbox cancel ${kept} my%20day.csv:2`, 0],
    [`outbox show ${kept} my%20day.csv:3`, 0],
    [`${again} --operation issue --corrects`, 1],
    [`${again} --operation issue`, 1],
  ]);
});

it("advice about an outbox can be followed, whatever a key looks like", async () => {
  const { env } = await world();
  const kept = file("my outbox.db");
  const outbox = createOutbox({ store: sqliteOutboxStore({ path: kept }) });
  const entry = (key: string, itemID: string): OutboxEntryInput => ({
    key,
    operation: "issue",
    input: { itemID, units: 1, wid: 1, reasonCode: 1 },
  });
  await outbox.addMany([entry("rejected", "NO-SUCH"), entry(ODD_KEY, "A"), entry("pending", "A")]);
  await outbox.close();
  const advised = async (...words: string[]) => {
    const ended = await runAdvice(["outbox", ...words], { env, kept });
    return ended.map(([command, code]) => [command.replace(`'${kept}'`, "O"), code]);
  };
  const odd = `'-k '\\''x'\\'' "$(exit 7)" <y>'`;
  const times = ["--settle", "1s", "--timeout", "1s"];
  const list = (state: string) => [`outbox list O --state ${state}`, 0];
  expect(await advised("run", kept, ...times)).toEqual([list("rejected"), list("unknown")]);
  expect(await advised("summary", kept)).toEqual([list("unknown"), list("rejected")]);
  expect(await advised("show", kept, "--", ODD_KEY)).toEqual([
    ["get A", 0],
    [`outbox resolve -- O ${odd} applied`, 0],
    [`outbox resolve -- O ${odd} not-applied`, 0],
  ]);
  expect(await advised("show", kept, "rejected")).toEqual([
    ["outbox resolve O rejected not-applied", 0],
    ["outbox cancel O rejected", 0],
  ]);
  expect(await advised("show", kept, "pending")).toEqual([["outbox cancel O pending", 0]]);
  expect(await advised("resolve", kept, "rejected", "applied")).toEqual([["outbox cancel O rejected", 0]]);
  expect(await advised("show", kept, "no such")).toEqual([["outbox list O", 0]]);
  // The commands that `stocklot mcp` tells an assistant to show.
  const { show, resolve, apply } = adviceFor(kept, { baseUrl: env.STOCKLOT_BASE_URL ?? "" });
  const plan = file("mcp.json");
  await run(["plan", "items", file("mcp.csv", "shortID,description\nB,new\n"), "--out", plan], env);
  made.length = 0;
  const shown = [show(ODD_KEY), resolve(ODD_KEY, "applied"), resolve(ODD_KEY, "not-applied"), apply(plan)].join("\n");
  expect((await runMade(shown, { env, kept })).map(([, code]) => code)).toEqual([0, 0, 0, 0]);
});

it("no place of the source makes a command that the tests above do not run", () => {
  const folder = join(import.meta.dirname, "../../src/command");
  const made = readdirSync(folder, { recursive: true, encoding: "utf8" }).flatMap((name) =>
    name.endsWith(".ts") && name !== "shell.ts"
      ? readFileSync(join(folder, name), "utf8")
          .split("\n")
          .flatMap((line, index) => (/\b(?:outboxC|c)ommandLine\(/.test(line) ? [`${name}:${index + 1}`] : []))
      : [],
  );
  expect(made.length).toBeGreaterThan(10);
  expect(made.filter((place) => !reached.has(place))).toEqual([]);
});
