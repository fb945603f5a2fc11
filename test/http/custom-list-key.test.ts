import { expect, it } from "vitest";
import { InputValidationError, InventoryClient } from "../../src/index.js";
import { createSandbox } from "../../src/sandbox/index.js";

it.each([
  ["rejects", () => Promise.reject(new Error("no key"))],
  ["resolves", async () => "key"],
  ["returns an object", () => ({})],
])("a key function that %s is refused: its records could not be told apart", async (_, key) => {
  const { baseUrl, credentials, fetch } = createSandbox();
  const client = new InventoryClient({ baseUrl, ...credentials, fetch });
  // JavaScript callers can pass any function.
  const keyOf = key as unknown as () => string;
  const list = client.paginate({ path: "/Item", key: keyOf });
  await expect(list.toArray({ limit: 2 })).rejects.toThrow(InputValidationError);
  await expect(list.toArray({ limit: 2 })).rejects.toThrow(/must return a string or a number/);
});
