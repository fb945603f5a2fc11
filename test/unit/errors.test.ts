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
  ApiError: [],
  BadRequestError: ["ApiError"],
  ValidationError: ["BadRequestError", "ApiError"],
  AuthenticationError: ["ApiError"],
  PermissionError: ["ApiError"],
  NotFoundError: ["ApiError"],
  ConflictError: ["ApiError"],
  RateLimitError: ["ApiError"],
  NotImplementedError: ["ApiError"],
  ServerError: ["ApiError"],
  ConnectionError: [],
  ClientClosedError: ["ConnectionError"],
  TimeoutError: ["ConnectionError"],
  OutcomeUnknownError: [],
  ResponseValidationError: [],
  InputValidationError: [],
  PaginationError: [],
  ConfigurationError: [],
  UnexpectedRemovalsError: [],
  StorageError: [],
};

describe("the error tree", () => {
  it.each(samples.map((error) => [error.name, error] as const))("%s is of its classes and no others", (name, error) => {
    const family = Object.entries(errors)
      .filter(([, ErrorClass]) => typeof ErrorClass === "function" && error instanceof ErrorClass)
      .map(([className]) => className);
    expect(family.sort()).toEqual([name, ...(PARENTS[name] ?? ["?"]), "StocklotError"].sort());
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

  it("supports ordinary instanceof for a user's subclass", () => {
    class MissingSku extends errors.NotFoundError {}
    const missing = new MissingSku(init);
    expect(missing).toBeInstanceOf(MissingSku);
    expect(missing).toBeInstanceOf(errors.NotFoundError);
    expect(new errors.NotFoundError(init)).not.toBeInstanceOf(MissingSku);
    expect(missing.name).toBe("NotFoundError");
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
    const nested = new errors.OutcomeUnknownError("?", {
      cause: new errors.ServerError(init),
      request: { method: "POST", path: "/Item", sentAt: 1 },
    });
    expect(nested.toJSON()).toMatchObject({ cause: { name: "ServerError", status: 400 } });
  });

  it("says of a StorageError what failed where, and whether the change may be stored", () => {
    const cause = Object.assign(new Error("database or disk is full"), { code: "ERR_SQLITE_ERROR", errcode: 13 });
    const error = new errors.StorageError("full", { location: "stock.db", cause });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "StorageError",
      message: "full",
      applied: "no",
      location: "stock.db",
      mayBeStored: false,
      cause: { name: "Error", message: "database or disk is full", code: "ERR_SQLITE_ERROR" },
    });
    expect(new errors.StorageError("?", { location: "x", mayBeStored: true })).toMatchObject({
      mayBeStored: true,
    });
  });

  it("keeps the cause of an unknown outcome even when it is undefined", () => {
    const request = { method: "POST", path: "/Item", sentAt: 1 };
    expect("cause" in new errors.OutcomeUnknownError("?", { cause: undefined, request })).toBe(true);
  });
});

describe("the message of an ApiError", () => {
  it.each([
    ["names method, path and status", {}, "GET /Item: 400 Malformed."],
    ["says if the service has none", { message: "" }, "GET /Item: 400 (the response has no message)"],
    ["ends with the hint", { hint: "Do this." }, "GET /Item: 400 Malformed. Do this."],
    ["puts a period before the hint", { message: "Not Found", hint: "Do this." }, "GET /Item: 400 Not Found. Do this."],
  ])("%s", (_, change, message) => {
    const error = new errors.ApiError({ ...init, ...change });
    expect(error.message).toBe(message);
    expect(error.serviceMessage).toBe({ ...init, ...change }.message);
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
