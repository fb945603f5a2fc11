import { expect, it } from "vitest";
import { freePort } from "../support/free-port.js";
import { commandFiles, run, serve } from "./support/run-command.js";

const fileNamed = commandFiles();
const EXPORT = ["export", "lots"];

it("a message names the option of the base URL, or the variable that is set", async () => {
  const { env } = await serve();
  const url = `http://127.0.0.1:${await freePort()}/api/v1`;
  const byVariable = await run(EXPORT, { ...env, STOCKLOT_BASE_URL: url });
  const byOption = await run([...EXPORT, "--base-url", url], env);
  const version = await run(EXPORT, { ...env, STOCKLOT_BASE_URL: `${env.STOCKLOT_BASE_URL}9` });
  expect([byVariable, byOption, version]).toMatchObject([
    {
      code: 1,
      err: expect.stringMatching(/ Check the scheme, host and port in baseUrl\.\n.* by STOCKLOT_BASE_URL\.\n$/),
    },
    { code: 1, err: expect.stringMatching(/ in baseUrl\.\nHere, baseUrl is set by --base-url\.\n$/) },
    {
      code: 1,
      err: expect.stringMatching(/^stocklot: POST \/Token: 404 .* baseUrl.* version.*\n.* by STOCKLOT_BASE_URL\.\n$/),
    },
  ]);
});

it.each([
  [EXPORT],
  [["mirror", "--sqlite", fileNamed("validation.db")]],
])("--response-validation is named by the error, warns, or is off: %j", async (args) => {
  const { env } = await serve({
    items: 5,
    lots: 20,
    rewrite: async (response, { url }) =>
      url.includes("/Inventory?")
        ? new Response((await response.text()).replace(/"units":[\d.]+/, '"units":"many"'), response)
        : response,
  });
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
});

it("messages of the service change nothing in a terminal", async () => {
  const body = { statusCode: 400, error: "x", message: "no\u001b[2J", details: null };
  const { env } = await serve({ faults: [{ path: /^\/(?!Token)/, fault: { type: "status", status: 400, body } }] });
  const { code, err } = await run(["get", "A"], env);
  expect(code).toBe(1);
  expect(err).toContain("no\ufffd[2J");
});
