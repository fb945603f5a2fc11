import { describe, expect, expectTypeOf, it } from "vitest";
import * as errors from "../../src/shared/errors/index.js";

const init = {
  status: 400,
  code: "bad_request",
  message: "Malformed.",
  method: "GET",
  path: "/Item",
  headers: { date: "now" },
  attempts: 2,
};

const samples = [
  new errors.ApiError(init),
  new errors.BadRequestError(init),
  new errors.ValidationError({ ...init, details: { units: ["must be > 0"] } }),
  new errors.AuthenticationError(init),
  new errors.PermissionError(init),
  new errors.NotFoundError(init),
  new errors.ConflictError(init),
  new errors.RateLimitError({ ...init, retryAfterMs: 5 }),
  new errors.NotImplementedError(init),
  new errors.ServerError(init),
  new errors.ConnectionError("lost", { cause: new Error("reset") }),
  new errors.ClientClosedError("closed"),
  new errors.TimeoutError("late", { clock: "timeoutMs" }),
  new errors.OutcomeUnknownError("unknown", { cause: "why", request: { method: "POST", path: "/Item", sentAt: 1 } }),
  new errors.ResponseValidationError("odd", { status: 200, issues: [] }),
  new errors.InputValidationError("items.get", [{ path: ["shortID"], message: "empty" }]),
  new errors.PaginationError("no end"),
  new errors.ConfigurationError("wrong"),
  new errors.UnexpectedRemovalsError({ resource: "lots", removals: 60, records: 90 }),
  new errors.StorageError("full", { location: "stock.db" }),
];

const PARENTS: Record<string, string[]> = {
  ValidationError: ["BadRequestError", "ApiError"],
  ClientClosedError: ["ConnectionError"],
  TimeoutError: ["ConnectionError"],
  ...Object.fromEntries(
    ["BadRequest", "Authentication", "Permission", "NotFound", "Conflict", "RateLimit", "NotImplemented", "Server"].map(
      (name) => [`${name}Error`, ["ApiError"]],
    ),
  ),
};

describe("the error tree", () => {
  it.each(samples.map((error) => [error.name, error] as const))("%s is of its classes and no others", (name, error) => {
    const family = Object.entries(errors)
      .filter(([, ErrorClass]) => typeof ErrorClass === "function" && error instanceof ErrorClass)
      .map(([className]) => className);
    expect(family.sort()).toEqual([name, ...(PARENTS[name] ?? []), "StocklotError"].sort());
    expect(error).toBeInstanceOf(Error);
    expect(error.constructor.name).toBe(name);
    expect(String(error)).toBe(`${name}: ${error.message}`);
  });

  it("narrows by is()", () => {
    const error: unknown = samples[2];
    expect(errors.ValidationError.is(error)).toBe(true);
    expect(errors.NotFoundError.is(error)).toBe(false);
    expect(errors.ApiError.is(null)).toBe(false);
    if (errors.ValidationError.is(error)) expectTypeOf(error.details).toEqualTypeOf<Record<string, string[]>>();
  });

  it("becomes JSON with its fields and its cause in short", () => {
    const cause = Object.assign(new Error("reset"), { code: "ECONNRESET" });
    expect(JSON.parse(JSON.stringify(new errors.ConnectionError("lost", { cause })))).toEqual({
      name: "ConnectionError",
      message: "lost",
      applied: "no",
      cause: { name: "Error", message: "reset", code: "ECONNRESET" },
    });
    expect(new errors.NotFoundError(init).toJSON()).toEqual({
      name: "NotFoundError",
      applied: "no",
      ...init,
      message: "GET /Item: 400 Malformed.",
      serviceMessage: "Malformed.",
    });
  });
});

it.each([
  ["Insufficient permissions.", "insufficient-permissions"],
  ["Account is read-only.", "read-only"],
  ["Warehouse is outside the client's authorized scope.", "warehouse-out-of-scope"],
  ["Report access denied.", "report-access-denied"],
  ["Go away.", "unknown"],
])("a 403 with the message %j has the reason %s", (message, reason) => {
  expect(new errors.PermissionError({ ...init, status: 403, message }).reason).toBe(reason);
});
