import assert from "node:assert/strict";
import type { ServiceResponse } from "./target.js";

const ISO_8601 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/;
const isDatetime = (value: unknown) => typeof value === "string" && ISO_8601.test(value);

const TESTS = {
  integer: Number.isInteger,
  decimal: Number.isFinite,
  string: (value: unknown) => typeof value === "string",
  boolean: (value: unknown) => typeof value === "boolean",
  datetime: isDatetime,
  "nullable string": (value: unknown) => value === null || typeof value === "string",
  "nullable datetime": (value: unknown) => value === null || isDatetime(value),
};

/** The document's tables of fields: the names of each type. */
const ITEM_FIELDS = {
  integer: "partNo category subCategory dfltOwner",
  decimal: "units",
  string: "shortID description uOM putUp",
  boolean: "discontinued",
  datetime: "created modified",
};
const LOT_FIELDS = {
  integer: "recNo partNo wID jobID",
  decimal: "units",
  string: "shortID description associate warehouse spot serial remark",
  "nullable string": "serial2 rFIDTag jobName",
  boolean: "hold active",
  datetime: "received",
  "nullable datetime": "shipped",
};
const LEVEL_FIELDS = { integer: "partNo", decimal: "available inStock onOrder onHold committed packed aSN" };

type Kind = keyof typeof TESTS;
type Table = readonly (readonly [name: string, kind: Kind])[];

const tableOf = (fields: Partial<Record<Kind, string>>): Table =>
  Object.entries(fields).flatMap(([kind, names]) => names.split(" ").map((name) => [name, kind as Kind] as const));

export const [ITEM, LOT, STOCK_LEVEL] = [tableOf(ITEM_FIELDS), tableOf(LOT_FIELDS), tableOf(LEVEL_FIELDS)];

/** Fails unless the record has all fields of the table, each of its type; further fields are fine. */
export function assertShape(record: Record<string, unknown>, table: Table): void {
  for (const [name, kind] of table) {
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
export function assertPage(response: ServiceResponse, table: Table) {
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
