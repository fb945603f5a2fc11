import { inspect } from "node:util";
import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { callerOf } from "./support/caller.js";

const SECRET = "correct-horse-battery";
const clients = [{ clientId: "scanner", clientSecret: SECRET }];
const DEEP = [{}, { depth: null }, { depth: null, showHidden: true }, { depth: null, customInspect: false }];

describe("inspecting shows neither a secret nor a token:", () => {
  it.each(DEEP)("sandbox, credentials, requests and server with %j", async (options) => {
    const sandbox = createSandbox({ clients, rateLimit: false });
    const server = await sandbox.listen();
    const api = callerOf(sandbox);
    const { authorization = "" } = await api.authorization();
    const token = authorization.slice("Bearer ".length);
    for (const value of [sandbox, sandbox.credentials, sandbox.requests, server, { nested: [{ sandbox, server }] }]) {
      const shown = inspect(value, options);
      expect(shown).not.toContain(SECRET);
      expect(shown).not.toContain(token);
    }
    await server.close();
  });
});

it("the request log never shows a secret, however it was sent", async () => {
  const sandbox = createSandbox({ clients });
  const send = (body: string, type: string, path = "/Token") =>
    sandbox.fetch(sandbox.baseUrl + path, { method: "POST", headers: { "content-type": type }, body });
  await send(JSON.stringify({ client_id: "scanner", client_secret: SECRET }), "application/json");
  await send(JSON.stringify({ nested: [{ client_secret: SECRET }] }), "application/json");
  await send(`client_id=scanner&client_secret=${SECRET}`, "text/plain");
  await send("{}", "application/json", `/Token?client_secret=${SECRET}`);
  expect(sandbox.requests).toHaveLength(4);
  expect(inspect(sandbox.requests, { depth: null })).not.toContain(SECRET);
  expect(JSON.stringify(sandbox.requests)).not.toContain(SECRET);
});

it.each([
  { clients: [{ clientId: "scanner", clientSecret: { value: SECRET } }] },
  { clients: [{ clientId: "scanner", clientSecret: [SECRET] }] },
  { clients: { clientId: "scanner", clientSecret: SECRET } },
  { clients: SECRET },
  { clients: [SECRET] },
])("a wrong option is refused without showing what may be a secret: %#", (options) => {
  expect(() => createSandbox(options as unknown as SandboxOptions)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining(SECRET) }),
  );
});
