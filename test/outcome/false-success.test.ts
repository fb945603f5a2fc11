import { describe, expect, it } from "vitest";
import { describeFalseSuccess, isCutOff } from "../../src/client/send/false-success.js";
import { ITEM } from "../support/records.js";

const ERROR = { statusCode: 400, error: "bad_request", message: "Item not found.", details: null };
const LIMIT = { message: "Rate Limit Exceeded. 100 per Minute" };
const PROBLEM = "application/problem+json";

const describe2xx = (
  body: unknown,
  { type = "application/json", documented }: { type?: string; documented?: string } = {},
) =>
  describeFalseSuccess(
    {
      status: 200,
      headers: { "content-type": type },
      body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    },
    documented,
  );

describe("a success status is no success if the body is", () => {
  it.each<[string, unknown, string?]>([
    ["the documented error", ERROR],
    ["the documented error without details", { statusCode: 404, error: "not_found", message: "No." }],
    ["that with the status of the response", { ...ERROR, statusCode: 200 }],
    ["that without a status", { error: "conflict", message: "Duplicate ShortID." }],
    ["its code alone", { error: "conflict" }],
    ["a status in a string", { ...ERROR, statusCode: "400" }],
    ["the error of the rate limit", LIMIT],
    ["that with empty fields", { ...LIMIT, details: null }],
    ["that with fields that are null", { ...LIMIT, details: {}, recNo: null }],
    ["in Pascal case", { StatusCode: 400, Error: "bad_request", Message: "Item not found.", Details: null }],
    ["in Pascal case, only a message", { Message: "Rate Limit Exceeded. 100 per Minute" }],
    ["in an array", [ERROR]],
    ["in an array beside a result", [{ recNo: 7 }, ERROR]],
    ["a message with the status of a redirect", { statusCode: 300, message: "Moved." }],
    ["a message with an unfinished status", { statusCode: 199, message: "Continue." }],
    ["only a message, in an array", [LIMIT]],
    ["in an array of arrays", [[ERROR]]],
    ["as a string of JSON", JSON.stringify(JSON.stringify(ERROR))],
    ["only a message, as a string of JSON", JSON.stringify(JSON.stringify(LIMIT))],
    ["as a string of a string of JSON", JSON.stringify(JSON.stringify(JSON.stringify(ERROR)))],
    ["as a string of JSON in an array", [JSON.stringify(ERROR)]],
    ["an array as a string of JSON", JSON.stringify(JSON.stringify([ERROR]))],
    ["in a field error", { error: ERROR }],
    ["in a field error beside a result", { recNo: 7, error: ERROR }],
    ["only a message, in a field error", { error: LIMIT }],
    ["in the only field of the body", { result: ERROR }],
    ["in a list of results", { value: [ERROR], details: null }],
    ["a problem by its media type", { type: "about:blank", title: "Bad Request", status: 400 }, PROBLEM],
    ["a problem without a type", { title: "Bad Request", status: 400, errors: { units: ["No."] } }],
    ["a problem by its form", { type: "about:blank", title: "Bad Request", status: 400 }],
    ["a problem with parameters of its type", { title: "x" }, `${PROBLEM}; charset=utf-8`],
    ["a problem of XML", "<problem/>", "application/problem+xml"],
    ["an error of another media type", { logref: 42 }, "application/vnd.error+json"],
    ["a problem without a body", "", PROBLEM],
    ["HTML", "<!doctype html><title>Login</title>", "text/html"],
    ["HTML of another type", "  <html></html>"],
    ["text that is said to be HTML", "please log in", "text/html"],
  ])("%s", (_, body, type) => {
    expect(describe2xx(body, type === undefined ? {} : { type })).toMatch(/^the body is (an error|HTML)/);
  });

  it("a report of a failure", () => {
    const body = { success: false, message: "Warehouse is outside the client's authorized scope." };
    expect(describe2xx(body)).toBe("the body reports a failure (success is false)");
  });

  it("quotes the error's own message", () => {
    expect(describe2xx([ERROR])).toBe("the body is an error of the service (Item not found.)");
    expect(describe2xx({ Message: "Slow down" })).toBe("the body is an error of the service (Slow down)");
  });

  it.each(["created", undefined])("of another status than the documented one (%j)", (status) => {
    expect(describe2xx({ shortID: "A", status: "failed" }, { documented: "created" })).toMatch(
      /its status is "failed"/,
    );
    expect(describe2xx({ shortID: "A", status }, { documented: "created" })).toBeUndefined();
  });
});

it.each<[string, unknown, string?]>([
  ["nothing", ""],
  ["text", "received"],
  ["a number", 12_345],
  ["a string", '"12345"'],
  ["text in brackets, as a string", '"[received]"'],
  ["text in braces", "{received}"],
  ["null", null],
  ["an empty array", []],
  ["an empty object", {}],
  ["a record number", { recNo: 7 }],
  ["a result with a message", { recNo: 7, message: "Received." }],
  ["a result with a message of a result one level down", { result: { recNo: 7 }, message: "Received." }],
  ["a message with the status of a success", { statusCode: 200, message: "Received." }],
  ["a message with another status of a success", { statusCode: 299, message: "Received." }],
  ["a message that says that there is no error", { error: null, message: "Received." }],
  ["a message with an empty error", { error: "", message: "Received.", details: null }],
  ["a message with another field", { success: true, message: "Received." }],
  ["an empty message", { message: "" }],
  ["a message of a result in its only field", { result: { message: "Received." } }],
  ["a status of a success", { recNo: 7, status: "received" }],
  ["a result that says that it is one", { success: true, status: 201 }],
  ["a result with the code of a warning", { recNo: 7, error: "low_stock" }],
  ["a result with a note in error", { recNo: 7, error: { message: "below the minimum" } }],
  ["results", [{ recNo: 7, message: "Received." }, { recNo: 8 }]],
  ["an item", ITEM],
  ["an item whose description is JSON", { ...ITEM, description: JSON.stringify(ERROR) }],
  ["an item of a service with messages", { ...ITEM, message: "created" }],
  ["JSON that is said to be HTML", { recNo: 7 }, "text/html"],
  ["JSON of another media type", { recNo: 7 }, "application/vnd.inventory+json"],
])("%s is a success", (_, body, type) => {
  expect(describe2xx(body, type === undefined ? {} : { type })).toBeUndefined();
});

it.each<[string, boolean]>([
  ['{"recNo":123', true],
  ["[1, 2", true],
  ['"123', true],
  ['{"recNo":123}', false],
  ["123", false],
  ["received", false],
  ["", false],
])("%j without a length is cut off: %s", (body, expected) => {
  const response = { status: 200, headers: {}, body: Buffer.from(body) };
  expect(isCutOff({ ...response, endsByClose: true })).toBe(expected);
  expect(isCutOff(response)).toBe(false);
});
