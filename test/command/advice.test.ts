import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxOptions } from "stocklot/sandbox";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { run, serve } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-advice-"));
afterAll(() => {
  rmSync(directory, { recursive: true });
});

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

const COMMANDS = {
  export: ["export", "lots"],
  mirror: ["mirror", "--sqlite", join(directory, "stock.db")],
};

type Change = (text: string) => string;

/** The variables for a service that changes the responses to requests for this path. */
async function serveChanged(path: string, change: Change, options: SandboxOptions = {}) {
  const rewrite = async (response: Response, request: Request) =>
    new URL(request.url).pathname.endsWith(path) ? new Response(change(await response.text()), response) : response;
  return (await serve({ rewrite, ...options })).env;
}

describe("a message names the option, or the variable that is set", () => {
  it("of the base URL", async () => {
    const { env } = await serve();
    const url = `http://127.0.0.1:${await freePort()}/api/v1`;
    const byVariable = await run(COMMANDS.export, { ...env, STOCKLOT_BASE_URL: url });
    expect(byVariable.err).toMatch(
      / Check the scheme, host and port in baseUrl\.\nHere, baseUrl is set by STOCKLOT_BASE_URL\.\n$/,
    );
    const byOption = await run([...COMMANDS.export, "--base-url", url], env);
    expect(byOption.err).toMatch(
      / Check the scheme, host and port in baseUrl\.\nHere, baseUrl is set by --base-url\.\n$/,
    );
    const version = await run(COMMANDS.export, { ...env, STOCKLOT_BASE_URL: `${env.STOCKLOT_BASE_URL}9` });
    expect(version.err).toMatch(
      /^stocklot: POST \/Token: 404 .* baseUrl.* version.*\nHere, baseUrl is set by STOCKLOT_BASE_URL\.\n$/,
    );
    expect([byVariable, byOption, version].map(({ code }) => code)).toEqual([1, 1, 1]);
  });
});

describe.each(["export", "mirror"] as const)("%s --response-validation", (name) => {
  it("is named by the error, warns, or is off", async () => {
    const change: Change = (text) => text.replace(/"units":[\d.]+/, '"units":"many"');
    const env = await serveChanged("/Inventory", change, { items: 5, lots: 20 });
    const args = name === "mirror" ? ["mirror", "--sqlite", join(directory, "validation.db")] : COMMANDS[name];
    const refused = await run(args, env);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(
      /units.* To accept such responses anyway, .*\nHere, responseValidation is set by --response-validation\.\n$/,
    );
    const warned = await run([...args, "--response-validation", "warn"], env);
    expect(warned.code).toBe(0);
    expect(warned.err).toMatch(
      /^warning: GET \/Inventory: the response is not .*value\[\d+\]\.units: Invalid input: expected number, received string[^\n]*\n/,
    );
    expect(warned.err).not.toMatch(/To accept/);
    const off = await run([...args, "--response-validation", "off"], env);
    expect(off).toMatchObject({ code: 0, err: expect.not.stringMatching(/warning/) });
    const wrong = await run([...args, "--response-validation", "none"], env);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("Allowed choices are error, warn, off") });
  });
});

it("messages of the service change nothing in a terminal", async () => {
  const body = { statusCode: 400, error: "x", message: "no\u001b[2J", details: null };
  const { env } = await serve({ faults: [{ path: /^\/(?!Token)/, fault: { type: "status", status: 400, body } }] });
  const { code, err } = await run(["get", "A"], env);
  expect(code).toBe(1);
  expect(err).toContain("no\ufffd[2J");
});
