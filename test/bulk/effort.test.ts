import { expect, it } from "vitest";
import { isListCheaper, requestsForItems, requestsForList } from "../../src/client/lists/effort.js";

it.each([
  { records: 0, requests: 1 },
  { records: 250, requests: 1 },
  { records: 251, requests: 2 },
  { records: 20_000, requests: 88 },
])("a list of $records records takes $requests requests, and is read for more items than that", ({
  records,
  requests,
}) => {
  expect(requestsForList(records)).toBe(requests);
  expect(isListCheaper(requests, records)).toBe(false);
  expect(isListCheaper(requests + 1, records)).toBe(true);
  expect(requestsForItems(requests - 1, records)).toBe(requests - 1);
  expect(requestsForItems(requests + 1, records)).toBe(requests);
});
