import { expect, it } from "vitest";
import { InventoryClient } from "../../src/index.js";

it.each([
  [400, "AuthenticationError"],
  [401, "AuthenticationError"],
  [403, "AuthenticationError"],
  [404, "AuthenticationError"],
  [408, "ApiError"],
  [425, "ApiError"],
  [429, "RateLimitError"],
  [503, "ServerError"],
])("a token request that is answered with %i is %s: a status that may pass says nothing about the credentials", async (status, name) => {
  const client = new InventoryClient({
    baseUrl: "https://service.example/api/v1",
    clientId: "client",
    clientSecret: "a secret of some length",
    fetch: async () => new Response(null, { status }),
    retry: false,
  });
  await expect(client.items.get("BOLT-M8")).rejects.toMatchObject({ name, status });
  await client.close();
});
