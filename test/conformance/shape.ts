import assert from "node:assert/strict";
import type { ServiceResponse } from "./target.js";

type Kind = "integer" | "decimal" | "string" | "boolean" | "datetime" | "nullable string" | "nullable datetime";

/** The document's tables of fields. */
export const ITEM = {
  partNo: "integer",
  shortID: "string",
  description: "string",
  category: "integer",
  subCategory: "integer",
  uOM: "string",
  putUp: "string",
  units: "decimal",
  dfltOwner: "integer",
  created: "datetime",
  modified: "datetime",
  discontinued: "boolean",
} as const satisfies Record<string, Kind>;

export const LOT = {
  recNo: "integer",
  partNo: "integer",
  shortID: "string",
  description: "string",
  associate: "string",
  warehouse: "string",
  wID: "integer",
  spot: "string",
  units: "decimal",
  received: "datetime",
  shipped: "nullable datetime",
  serial: "string",
  serial2: "nullable string",
  rFIDTag: "nullable string",
  remark: "string",
  hold: "boolean",
  jobID: "integer",
  jobName: "nullable string",
  active: "boolean",
} as const satisfies Record<string, Kind>;

export const STOCK_LEVEL = {
  partNo: "integer",
  available: "decimal",
  inStock: "decimal",
  onOrder: "decimal",
  onHold: "decimal",
  committed: "decimal",
  packed: "decimal",
  aSN: "decimal",
} as const satisfies Record<string, Kind>;

/** Fails unless the record has all fields of the table, each of its type; further fields are fine. */
export function assertShape(record: Record<string, unknown>, table: Readonly<Record<string, Kind>>): void {
  for (const [name, kind] of Object.entries(table)) {
    assert.ok(name in record, `the field ${name} is missing`);
    assert.ok(TESTS[kind](record[name]), `${name} should be ${kind}, not ${JSON.stringify(record[name])}`);
  }
}

/** Fails unless the response is the error object with that status, code and, if given, message. */
export function assertError(response: ServiceResponse, status: number, error: string, message?: string): void {
  assert.equal(response.status, status, `status ${response.status}: ${response.text.slice(0, 200)}`);
  assert.equal(response.body?.statusCode, status, "statusCode should be the HTTP status");
  assert.equal(response.body.error, error);
  assert.equal(typeof response.body.message, "string");
  if (message !== undefined) assert.equal(response.body.message, message);
  if (error !== "validation_error") assert.ok(response.body.details == null, "details belong to validation_error only");
}

/** Fails unless the response is a validation error with messages for these fields. */
export function assertInvalid(response: ServiceResponse, fields: readonly string[]): void {
  assertError(response, 400, "validation_error", "Model validation failed.");
  const names = new Set(Object.keys(response.body.details).map((name) => name.toLowerCase()));
  for (const field of fields) assert.ok(names.has(field.toLowerCase()), `details should name ${field}`);
  for (const messages of Object.values(response.body.details))
    assert.ok(Array.isArray(messages) && messages.length > 0);
}

/** Fails unless the response is a success with a page of records of that shape; returns the page. */
export function assertPage(response: ServiceResponse, table: Readonly<Record<string, Kind>>) {
  assert.equal(response.status, 200, `status ${response.status}: ${response.text.slice(0, 200)}`);
  const { body, headers } = response;
  assert.ok(Array.isArray(body?.value), "value should be an array");
  for (const name of ["totalCount", "page", "pageSize", "pageCount"]) {
    assert.ok(Number.isInteger(body[name]), `${name} should be an integer`);
  }
  assert.equal(typeof body.hasMore, "boolean");
  assert.equal(body.hasMore, body.page < body.pageCount, "hasMore should say whether pages follow");
  assert.equal(body.pageCount, Math.ceil(body.totalCount / body.pageSize));
  assert.equal(headers.get("x-total-count"), String(body.totalCount));
  assert.equal(headers.get("x-page-size"), String(body.pageSize));
  assert.equal(headers.get("x-page"), String(body.page));
  assert.equal(headers.get("x-api-version"), "v1");
  for (const record of body.value) assertShape(record, table);
  return body;
}

const ISO_8601 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/;
const isDatetime = (value: unknown) => typeof value === "string" && ISO_8601.test(value);

const TESTS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  integer: Number.isInteger,
  decimal: Number.isFinite,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  datetime: isDatetime,
  "nullable string": (value) => value === null || typeof value === "string",
  "nullable datetime": (value) => value === null || isDatetime(value),
};
