import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { PassThrough } from "node:stream";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { painter, table } from "../../src/command/terminal.js";
import { RUN_ALL } from "../support/runs.js";
import { COMMAND_FILE, serve } from "./support/run-command.js";

/** Runs a command on a pseudo-terminal; part of util-linux. */
const SCRIPT = "/usr/bin/script";

describe("output", () => {
  it("has colours on a terminal only, and none with NO_COLOR", () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    expect(painter(terminal)("red", "x")).toBe("\u001b[31mx\u001b[0m");
    expect(painter(new PassThrough())("red", "x")).toBe("x");
    process.env.NO_COLOR = "1";
    try {
      expect(painter(terminal)("red", "x")).toBe("x");
    } finally {
      delete process.env.NO_COLOR;
    }
  });

  it("aligns numbers to the right", () => {
    expect(
      table(
        ["name", "n"],
        [
          ["long name", 5],
          ["x", 1000],
        ],
      ),
    ).toBe("name          n\nlong name     5\nx          1000");
  });

  it.skipIf(!RUN_ALL || !existsSync(SCRIPT))("is coloured on a pseudo-terminal", async () => {
    const { env } = await serve();
    const command = `${process.execPath} ${COMMAND_FILE} doctor`;
    const options = { env: { PATH: process.env.PATH, TERM: "xterm", ...env } };
    const { stdout } = await promisify(execFile)(SCRIPT, ["-qec", command, "/dev/null"], options);
    expect(stdout).toContain("\u001b[32m✓\u001b[0m");
    expect(stdout).toContain("No problems.");
  });
});
