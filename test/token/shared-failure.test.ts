import { types } from "node:util";
import { expect, it } from "vitest";
import { AuthenticationError, InventoryClient } from "../../src/index.js";

const TOKEN = { access_token: "token-0123456789", token_type: "bearer", expires_in: 3_600 };

it("the failure of a token request that several calls share says of each what became of its own write", async () => {
  let tokens = 0;
  let puts = 0;
  let refuse = () => {};
  const refused = new Promise<void>((resolve) => (refuse = resolve));
  const client = new InventoryClient({
    baseUrl: "https://service.test/api/v1",
    clientId: "id",
    clientSecret: "the-secret",
    retry: { minDelayMs: 1 },
    async fetch(input, init) {
      if (String(input).endsWith("/Token")) {
        tokens += 1;
        if (tokens === 1) return Response.json(TOKEN);
        await refused;
        return Response.json({ error: "invalid_client" }, { status: 401 });
      }
      if (init?.method === "PUT") {
        puts += 1;
        return Response.json({ message: "no" }, { status: puts === 1 ? 503 : 401 });
      }
      setTimeout(refuse, 20);
      return Response.json({ message: "no" }, { status: 401 });
    },
  });
  const update = client.items.update("BOLT-M8", { description: "Bolt" }).catch((error: unknown) => error);
  const read = client.items.get("BOLT-M8").catch((error: unknown) => error);
  const [ofUpdate, ofRead] = await Promise.all([update, read]);
  expect([ofUpdate, ofRead].every((error) => AuthenticationError.is(error))).toBe(true);
  expect(ofUpdate).toMatchObject({ applied: "unknown", status: 401, path: "/Token" });
  expect(ofRead).toMatchObject({ applied: "no", status: 401, path: "/Token" });
  expect(types.isNativeError(ofUpdate)).toBe(true);
  await client.close();
});
