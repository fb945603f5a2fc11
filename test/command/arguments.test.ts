import { CommanderError } from "commander";
import { describe, expect, it } from "vitest";
import { createProgram } from "../../src/command/program.js";
import { RUN_ALL } from "../support/runs.js";
import { run, serve } from "./support/run-command.js";

/** What is written to standard error for these arguments. */
async function errorFor(...args: string[]): Promise<string> {
  let written = "";
  const program = createProgram();
  for (const command of [program, ...program.commands])
    command.configureOutput({
      writeErr: (text) => {
        written += text;
      },
    });
  await expect(program.parseAsync(args, { from: "user" })).rejects.toThrow(CommanderError);
  return written;
}

describe("an unknown option", () => {
  it.each([
    [["import", "x.csv", "--operation", "receive", "--outbx", "outbox.db"], "'--outbx'\n(Did you mean --outbox?)\n"],
    [["import", "x.csv", "--operatoin=receive"], "'--operatoin'\n(Did you mean --operation?)\n"],
    [["import", "--outbx", "outbox.db"], "'--outbx'\n(Did you mean --outbox?)\n"],
    [["export", "lots", "--format", "csv", "--ouput=canary.csv"], "'--ouput'\n(Did you mean --output?)\n"],
    [["doctor", "--dry-run"], "'--dry-run'\n"],
  ])("is suggested, also where a required option is missing: %j", async (args, message) => {
    expect(await errorFor(...args)).toBe(`error: unknown option ${message}Try --help.\n`);
  });

  it.each([
    [["doctor", "--canary7e5a"]],
    [["--canary", "doctor"]],
    [["export", "lots", "--json-canary-canary"]],
    [["doctor", "--canary'\n(Did you mean --canary?)"]],
  ])("may be a secret, so that it is not shown: %j", async (args) => {
    const message = await errorFor(...args);
    expect(message).toMatch(/^error: unknown option, not shown because it may be a secret\n/);
    expect(message).not.toContain("canary");
  });

  it("does not replace another error", async () => {
    expect(await errorFor("import", "x.csv", "--outbox", "x.db")).toMatch(
      /^error: required option '--operation <name>'/,
    );
    expect(await errorFor("doctor", "--rate-limit", "x", "--jsn")).toMatch(/^error: option '--rate-limit <n>'/);
  });
});

it.skipIf(!RUN_ALL).each([
  ["plan", "show", "ADDRESS"],
  ["outbox", "list", " ADDRESS"],
  ["export", "items", "--output", "ADDRESS"],
  ["mirror", "--sqlite", "ADDRESS"],
  ["mirror", "--sqlite", "ADDRESS", "--status"],
])("%s %s shows no password of an address that stands in the place of a file", async (...args) => {
  const { env } = await serve({ items: 1, lots: 0 });
  const given = args.map((text) => text.replace("ADDRESS", "postgres://pg:canary-password@127.0.0.1:1/x"));
  const { code, out, err } = await run(given, env);
  expect(code).not.toBe(0);
  expect(out + err).toContain("127.0.0.1:1");
  expect(out + err).not.toContain("canary");
});
