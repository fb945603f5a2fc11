import { describe, expect, it } from "vitest";
import { describePathProblem, pathOf } from "../../src/client/send/path.js";
import { InputValidationError } from "../../src/index.js";
import { READS } from "../../src/service/operations.js";

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
