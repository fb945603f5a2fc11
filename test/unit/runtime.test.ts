import { afterEach, describe, expect, it, vi } from "vitest";
import { type ClientOptions, ConfigurationError, InventoryClient } from "../../src/index.js";

afterEach(() => vi.unstubAllGlobals());

function clientOn(versions: Record<string, string>, options: ClientOptions = {}): InventoryClient {
  const stub = { value: { node: "20.19.0", ...versions } };
  vi.stubGlobal("process", Object.create(process, { versions: stub }));
  return new InventoryClient({
    baseUrl: "https://inventory.test/api/v1",
    clientId: "scanner",
    clientSecret: "canary-secret-0123456789",
    ...options,
  });
}

describe("a client", () => {
  it.each(["20.19.0", "26.0.0"])("can be created on Node.js %s", (node) => {
    expect(clientOn({ node })).toBeInstanceOf(InventoryClient);
  });

  it.each(["18.20.4", "20.18.3"])("is a ConfigurationError on Node.js %s", (node) => {
    expect(() => clientOn({ node })).toThrow(ConfigurationError);
    expect(() => clientOn({ node })).toThrow(new RegExp(`requires Node\\.js 20\\.19 or later.* this is ${node}`));
  });

  it.each(["bun", "deno"])("can be created on %s, whatever Node.js it says it is", (name) => {
    expect(clientOn({ node: "18.0.0", [name]: "1.2.0" })).toBeInstanceOf(InventoryClient);
  });

  it("can be created at module level on Workers, which allow no AbortController there", () => {
    vi.stubGlobal(
      "AbortController",
      class {
        constructor() {
          throw new Error("not allowed in global scope");
        }
      },
    );
    expect(clientOn({ node: "22.0.0" }, { fetch: globalThis.fetch })).toBeInstanceOf(InventoryClient);
  });
});
