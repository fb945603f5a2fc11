import { describe, expect, it } from "vitest";
import {
  ApiError,
  AuthenticationError,
  BadRequestError,
  InputValidationError,
  NotFoundError,
  NotImplementedError,
  PermissionError,
  RateLimitError,
} from "../../src/index.js";
import type { OutboxOperation, OutboxState } from "../../src/outbox/index.js";
import { AttemptOutdated, Interrupted, isServiceError, lateOutcome, outcomeOf } from "../../src/outbox/run/outcome.js";

const body = (status: number, message = "No.") =>
  Buffer.from(JSON.stringify({ statusCode: status, error: "code", message }));
const apiError = (ErrorClass: typeof ApiError, status: number, message = "No.") =>
  new ErrorClass({ status, code: "code", message, method: "POST", path: "/x", headers: {}, attempts: 1 });
const permissionError = (message: string) => apiError(PermissionError, 403, message);
const FAILED = new Error("failed");

interface End {
  operation?: OutboxOperation;
  status?: number;
  page?: boolean;
  uncertain?: boolean;
  before?: boolean;
  error?: unknown;
}

const end = ({
  operation = "receive",
  status,
  page = false,
  uncertain = false,
  before = false,
  error = FAILED,
}: End) => ({
  operation,
  response: status === undefined ? undefined : { status, body: page ? Buffer.from("<html>") : body(status) },
  isUncertain: uncertain,
  wasUncertain: before,
  error,
});

describe("the outcome of a call", () => {
  it.each<[End, string]>([
    [{ status: 200, error: undefined }, "applied"],
    [{ status: 201, page: true }, "applied"],
    [{ status: 204, operation: "move", uncertain: true }, "applied"],
    [{ status: 400 }, "rejected"],
    [{ status: 404 }, "rejected"],
    [{ status: 409 }, "rejected"],
    [{ status: 422 }, "rejected"],
    [{ status: 404, operation: "update" }, "rejected"],
    [{ status: 404, operation: "update", uncertain: true }, "refused-perhaps-applied"],
    [{ status: 404, operation: "update", before: true }, "refused-perhaps-applied"],
    [{ status: 409, operation: "discontinue", uncertain: true }, "refused-perhaps-applied"],
    [
      { status: 403, operation: "discontinue", before: true, error: permissionError("Insufficient permissions.") },
      "refused-perhaps-applied",
    ],
    [{ error: new InputValidationError("x", []) }, "rejected"],
    [{ status: 403, error: permissionError("Insufficient permissions.") }, "rejected"],
    [{ status: 403, error: permissionError("Warehouse is outside the client's authorized scope.") }, "rejected"],
    [{ status: 403, error: permissionError("Account is read-only.") }, "fails-for-all"],
    [{ status: 401, error: apiError(AuthenticationError, 401) }, "fails-for-all"],
    [{ status: 429, error: apiError(RateLimitError, 429) }, "fails-for-all"],
    [{}, "fails-for-all"],
    [{ error: new Interrupted("the lease of bolt has ended") }, "interrupted"],
    [{ error: new AttemptOutdated(undefined) }, "interrupted"],
    [{ error: new Interrupted("the lease of bolt has ended"), uncertain: true }, "uncertain"],
    [{ status: 403, error: permissionError("Blocked.") }, "failed"],
    [{ status: 403, page: true, error: permissionError("Insufficient permissions.") }, "failed"],
    [{ status: 400, page: true, error: apiError(BadRequestError, 400) }, "failed"],
    [{ status: 404, page: true, error: apiError(NotFoundError, 404) }, "failed"],
    [{ status: 405, error: apiError(ApiError, 405) }, "failed"],
    [{ status: 413, error: apiError(ApiError, 413) }, "failed"],
    [{ status: 501, error: apiError(NotImplementedError, 501) }, "failed"],
    [{ status: 307, error: apiError(ApiError, 307) }, "failed"],
    [{ uncertain: true }, "uncertain"],
    [{ status: 500, uncertain: true }, "uncertain"],
    [{ status: 503, page: true, uncertain: true, operation: "update" }, "uncertain"],
    [{ status: 401, uncertain: true, operation: "update" }, "uncertain"],
    [{ status: 409, operation: "create", before: true }, "refused-perhaps-applied"],
    [{ status: 400, operation: "create", before: true }, "refused-perhaps-applied"],
    [{ status: 404, operation: "create", before: true }, "rejected"],
    [{ status: 409, operation: "create" }, "rejected"],
    [{ status: 409, operation: "receive", before: true }, "rejected"],
  ])("%j is %s", (given, outcome) => {
    expect(outcomeOf(end(given))).toBe(outcome);
  });
});

it.each([
  ['{"statusCode":404,"error":"not_found","message":"No."}', true],
  ['{"error":"not_found","message":"No."}', true],
  ['{"statusCode":200,"error":"not_found","message":"No."}', false],
  ['{"message":"Forbidden"}', false],
  ['{"error":"not_found"}', false],
  ["<html>404</html>", false],
  ["null", false],
  ["", false],
])("whether %s is the service's own error object: %s", (text, isOwn) => {
  expect(isServiceError(404, Buffer.from(text))).toBe(isOwn);
});

describe("an outcome of attempt 2 that comes late", () => {
  it.each<[string, OutboxOperation, OutboxState, number, boolean, string]>([
    ["is stored if nothing has happened", "receive", "sending", 2, true, "store"],
    ["is stored if nothing has happened, also a failure", "receive", "sending", 2, false, "store"],
    ["stops a resend that was not sent", "receive", "pending", 2, true, "store"],
    ["is true of an entry that was canceled", "receive", "canceled", 2, true, "store"],
    ["stops a second resend that was not sent", "receive", "pending", 3, true, "store"],
    ["that failed changes nothing once the entry is pending", "receive", "pending", 2, false, "ignore"],
    ["conflicts with a resend", "receive", "sending", 3, true, "conflict"],
    ["conflicts with a resend that was applied", "receive", "applied", 3, true, "conflict"],
    ["conflicts with a resend that was rejected", "create", "rejected", 3, true, "conflict"],
    ["confirms what a look-up has found", "receive", "applied", 2, true, "ignore"],
    ["settles what a look-up could not", "receive", "unknown", 2, true, "store"],
    ["leaves a later unknown to a person", "receive", "unknown", 3, true, "ignore"],
    ["that failed changes nothing in a resend", "receive", "sending", 3, false, "ignore"],
    ["does not matter for an update", "update", "sending", 3, true, "ignore"],
    ["stops the resend of an update", "update", "pending", 2, true, "store"],
  ])("%s", (_, operation, state, attempts, isApplied, expected) => {
    expect(lateOutcome({ isApplied, attempts: 2 }, { operation, state, attempts })).toBe(expected);
  });
});
