import { afterEach, describe, expect, it, vi } from "vitest";
import { ITEM } from "../support/records.js";
import { connect } from "../support/with-server.js";
import { clientOf } from "./server.js";

const item = JSON.stringify(ITEM);
/** Returns whether the requests that `run` makes go through fetch. */
async function usesFetch(run: () => Promise<unknown>): Promise<boolean> {
  const fetch = vi.spyOn(globalThis, "fetch");
  await run();
  const isUsed = fetch.mock.calls.length > 0;
  fetch.mockRestore();
  return isUsed;
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.doUnmock("#undici");
  vi.resetModules();
});

describe("a client without options", () => {
  it("sends with undici", async () => {
    const { client } = await clientOf((_, response) => response.end(item));
    expect(await usesFetch(() => client.items.get("X"))).toBe(false);
  });

  it.each([
    ["is empty, as in a bundle for Workers", () => ({ Agent: undefined }), 0],
    ["cannot dispatch, as on Bun", () => ({ Agent: class {} }), 0],
    [
      "cannot be loaded, as in a single ES module, and warns",
      () => {
        throw new Error('Dynamic require of "node:assert" is not supported');
      },
      1,
    ],
  ])("sends with fetch if undici %s", async (_, undici, warnings) => {
    vi.doMock("#undici", undici);
    vi.resetModules();
    const { InventoryClient: Client } = await import("../../src/index.js");
    const { origin } = await clientOf((_request, response) => response.end(item));
    const warn = vi.fn();
    const logger = { debug() {}, info() {}, warn, error() {} };
    const client = new Client({
      baseUrl: `${origin}/api/v1`,
      clientId: "scanner",
      clientSecret: "secret-0123",
      logger,
    });
    expect(await usesFetch(() => client.items.get("X"))).toBe(true);
    expect(warn.mock.calls.filter(([line]) => /sent with fetch.*undici/.test(line))).toHaveLength(warnings);
    await client.close();
  });
});

describe("where the environment may not be read", () => {
  const read = vi.fn(() => {
    throw new Error("NotCapable");
  });

  function forbidEnvironment() {
    vi.stubGlobal("Deno", { permissions: { querySync: () => ({ state: "prompt" }) } });
    const versions = { value: { node: "26.0.0", deno: "2.9.6" } };
    const env = { value: new Proxy({}, { get: read, has: read }) };
    vi.stubGlobal("process", Object.create(process, { versions, env }));
  }

  it("requests are sent with fetch, since undici reads variables, and no variable is read", async () => {
    const { client } = await clientOf((_, response) => response.end(item));
    forbidEnvironment();
    expect(await usesFetch(() => client.items.get("X"))).toBe(true);
    expect(read).not.toHaveBeenCalled();
  });
});

it("Deno's fetch, looked up at each call, receives a write as a stream, and anything else as it is", async () => {
  const inits: RequestInit[] = [];
  vi.stubGlobal("process", Object.create(process, { versions: { value: { node: "26.0.0", deno: "2.9.6" } } }));
  const client = connect({ baseUrl: "https://inventory.test/api/v1" }, { fetch: globalThis.fetch });
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    inits.push(init);
    return new Response(init.method === "POST" && inits.length === 1 ? '{"access_token":"t-0123456789"}' : "{}");
  });
  await client.request({ method: "POST", path: "/Orders", body: { text: "é" } });
  await client.request({ method: "PUT", path: "/Orders", body: { text: "é" } });
  const [, post, put] = inits;
  expect(post).toMatchObject({ body: expect.any(ReadableStream), duplex: "half" });
  expect(await new Response(post?.body).text()).toBe('{"text":"é"}');
  expect(put?.body).toBe('{"text":"é"}');
});
