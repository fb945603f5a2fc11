import { expect, it } from "vitest";
import { parseUrl } from "../../src/shared/url.js";

it("a URL with a character outside ASCII is one, however often it is parsed", () => {
  let refused = 0;
  for (let time = 0; time < 100_000; time += 1) if (!parseUrl("https://münchen.example/api/v1")) refused += 1;
  expect(refused).toBe(0);
  expect(parseUrl("no URL")).toBeUndefined();
});
