import { describe, expect, it } from "vitest";
import { renewalTime } from "../../src/client/auth/token-manager.js";
import { findRecordNumber } from "../../src/client/resources/inventory.js";
import { parseTokenLifetimeMs } from "../../src/client/resources/token.js";
import { parseRetryAfterMs, readErrorBody } from "../../src/client/send/api-error.js";
import { describePathProblem, pathOf } from "../../src/client/send/payload.js";
import { InputValidationError, parseServiceDate } from "../../src/index.js";
import { READS } from "../../src/service/operations.js";

const DAY_MS = 86_400_000;

describe("the life of a token", () => {
  it.each<[unknown, number]>([
    [3_600, 3_600_000],
    ["3600", 3_600_000],
    [undefined, DAY_MS],
    [0, DAY_MS],
    [-1, DAY_MS],
    ["soon", DAY_MS],
    [31_536_000, DAY_MS],
  ])("with expires_in %j is %i ms", (expiresIn, expected) => {
    expect(parseTokenLifetimeMs(expiresIn)).toBe(expected);
  });

  it("ends a minute early, or a tenth of it", () => {
    expect(renewalTime(3_600_000, 0)).toBe(3_540_000);
    expect(renewalTime(10_000, 0)).toBe(9_000);
  });
});

describe("the record number of a transaction", () => {
  it.each<[unknown, number | undefined]>([
    [42, 42],
    ["42", 42],
    [" 42\n", 42],
    [{ recNo: 42 }, 42],
    [{ recno: "42" }, 42],
    [{ id: 42 }, 42],
    [{ data: { recNo: 42 } }, 42],
    [{ id: 7, lot: { recNo: 42 } }, 42],
    [{ id: "a-uuid", value: { recNo: 42 } }, 42],
    [[{ recNo: 42 }], 42],
    [{ a: { b: { recNo: 42 } } }, undefined],
    [{ recNo: "A42" }, undefined],
    [{ recNo: 4.2 }, undefined],
    [{ units: 42 }, undefined],
    ["received", undefined],
    [null, undefined],
  ])("in %j is %s", (body, expected) => {
    expect(findRecordNumber(body)).toBe(expected);
  });
});

describe("an error body", () => {
  const read = (status: number, body: string) => readErrorBody({ status, headers: {}, body: Buffer.from(body) });

  it.each<[string, number, string, object]>([
    [
      "of the documented form is read completely",
      400,
      '{"statusCode":400,"error":"validation_error","message":"Model validation failed.","details":{"units":["must be > 0"]}}',
      { code: "validation_error", message: "Model validation failed.", details: { units: ["must be > 0"] } },
    ],
    [
      "with only a message takes the code from the status",
      429,
      '{"message":"Rate Limit Exceeded. 100 per Minute"}',
      { code: "rate_limited", message: "Rate Limit Exceeded. 100 per Minute" },
    ],
    [
      "of an OAuth server is read as its description",
      401,
      '{"error":"invalid_client","error_description":"Unknown client"}',
      { code: "invalid_client", message: "Unknown client" },
    ],
    [
      "in HTML is read as its text",
      502,
      "<html><head><style>p{}</style><title>502 Bad Gateway</title></head><body><h1>Bad\nGateway</h1></body></html>",
      { code: "unknown", message: "502 Bad Gateway Bad Gateway" },
    ],
    ["that is empty has no message", 503, "", { code: "unknown", message: "" }],
    [
      "with details of several types keeps the messages",
      400,
      '{"error":"validation_error","message":"m","details":{"a":["x",5],"b":"y","c":null,"d":[5]}}',
      { details: { a: ["x"], b: ["y"] } },
    ],
    ["that is no object is read as its text", 500, '"oops"', { code: "internal_error", message: '"oops"' }],
  ])("%s", (_, status, body, expected) => {
    expect(read(status, body)).toEqual(expect.objectContaining(expected));
  });

  it("is cut short when it is long", () => {
    expect(read(500, "x".repeat(10_000)).message.length).toBeLessThan(250);
  });
});

describe("a datetime of the service", () => {
  it.each([
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
    ["2026-01-02T03:04:05", "2026-01-02T03:04:05.000Z"],
    ["2026-01-02T03:04:05.1234567", "2026-01-02T03:04:05.123Z"],
    ["2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05.000Z"],
    ["2026-01-02", "2026-01-02T00:00:00.000Z"],
  ])("%s is %s", (text, expected) => {
    expect(parseServiceDate(text).toISOString()).toBe(expected);
  });

  it.each([
    "",
    "yesterday",
    "2026-13-01",
    "02/01/2026",
    "2026-02-30T00:00:00",
    "2025-02-29",
  ])("%j is refused", (text) => {
    expect(() => parseServiceDate(text)).toThrow(InputValidationError);
  });
});

const HTTP_DATE = "Thu, 01 Jan 2015 00:00:05 GMT";
it.each<[string | undefined, string | undefined, number | undefined]>([
  ["7", undefined, 7_000],
  ["0", undefined, 0],
  ["1.5", undefined, 1_500],
  ["Thu, 01 Jan 2015 00:00:05 GMT", "Thu, 01 Jan 2015 00:00:00 GMT", 5_000],
  ["Thu, 01 Jan 2015 00:00:05 GMT", "Thu, 01 Jan 2015 00:01:00 GMT", 0],
  ["Thu, 99 Jan", undefined, undefined],
  ["-5", undefined, undefined],
  ["1e3", undefined, undefined],
  ["soon", undefined, undefined],
  ["", undefined, undefined],
  [undefined, undefined, undefined],
  ["30, 30", undefined, 30_000],
  ["30,30 , 30", undefined, 30_000],
  ["5, 7", undefined, undefined],
  ["30, ", undefined, undefined],
  [`${HTTP_DATE}, ${HTTP_DATE}`, "Thu, 01 Jan 2015 00:00:00 GMT", 5_000],
  [`${HTTP_DATE}, Thu, 01 Jan 2015 00:00:06 GMT`, "Thu, 01 Jan 2015 00:00:00 GMT", undefined],
  [`${HTTP_DATE}, Thu`, "Thu, 01 Jan 2015 00:00:00 GMT", undefined],
])("Retry-After: %s with Date: %s is %s ms", (value, date, expected) => {
  const headers = { ...(value !== undefined && { "retry-after": value }), ...(date !== undefined && { date }) };
  expect(parseRetryAfterMs(headers)).toBe(expected);
});

describe("a path parameter", () => {
  it.each([
    ["A/B?c=d#e", "/Item/A%2FB%3Fc%3Dd%23e"],
    ["100%", "/Item/100%25"],
    ["ü ✓", "/Item/%C3%BC%20%E2%9C%93"],
    ["+", "/Item/%2B"],
    ["..\\..", "/Item/..%5C.."],
    ["%2e%2e", "/Item/%252e%252e"],
    ["...", "/Item/..."],
    ["😀", "/Item/%F0%9F%98%80"],
  ])("%s stays one segment", (key, expected) => {
    expect(pathOf(READS.getItemByPartNo, key)).toBe(expected);
  });

  it.each(["", ".", "..", "\ud800"])("%j is refused", (key) => {
    expect(() => pathOf(READS.getItemByPartNo, key)).toThrow(InputValidationError);
  });
});

describe("a path of the caller's", () => {
  it.each(["/Orders", "/Orders/A%2FB", "/Orders/@a:b,c;d=e'f(g)*!$&~"])("%s is taken", (given) => {
    expect(describePathProblem(given)).toBeUndefined();
  });

  const REFUSED = "Orders /Orders?page=1 /Orders#top /ü /a\\b /.. /a/../b /a/./b /%2e%2E/b /.%2e /a%2f.. /a/..%2Fb";
  it.each([
    ...REFUSED.split(" "),
    ...["/%2f%2e%2e%2f", "/a/..%5cb", "/%zz", "/a%2", "/100%", "", "/a b", "/a\r\nb", undefined, 7],
  ])("%j is refused", (given) => {
    expect(describePathProblem(given)).toMatch(/^must /);
  });
});
