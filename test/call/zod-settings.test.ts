import { afterEach, expect, it } from "vitest";
import * as z from "zod";
import { InputValidationError, InventoryClient, ResponseValidationError } from "../../src/index.js";
import { createSandbox } from "../../src/sandbox/index.js";

const settings = { ...z.config() };
afterEach(() => {
  z.config({ customError: undefined, ...settings });
});

const open = () => {
  const sandbox = createSandbox({ faults: [{ path: "/Item", fault: { type: "status", status: 200, body: {} } }] });
  const { baseUrl, credentials, fetch } = sandbox;
  return (responseValidation: "error" | "warn") =>
    new InventoryClient({ baseUrl, ...credentials, fetch, responseValidation, logger: undefined });
};

const messageOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

it("messages do not depend on those that the application has set in zod", async () => {
  const clientOf = open();
  const failures = () =>
    Promise.all([
      messageOf(clientOf("error").items.get("BOLT-M8")),
      messageOf(clientOf("error").items.create({ shortID: 7 as never })),
      messageOf(clientOf("error").items.get("BOLT-M8", { retry: 7 as never })),
    ]);
  const before = await failures();
  // Translation helpers of applications set such functions. They may return objects instead of strings.
  z.config({ customError: (issue) => ({ message: { key: issue.code } as never }) });
  const after = await failures();
  expect(after.map(String)).toEqual(before.map(String));
  expect(after[0]).toBeInstanceOf(ResponseValidationError);
  expect(after[1]).toBeInstanceOf(InputValidationError);
  await expect(clientOf("warn").items.get("BOLT-M8")).resolves.toBeDefined();
  z.config({
    customError: () => {
      throw new Error("of the application");
    },
  });
  expect((await failures()).map(String)).toEqual(before.map(String));
});
