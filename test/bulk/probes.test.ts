import { describe, expect, it } from "vitest";
import { answerOf, modifiedSinceProbe, probeModifiedSince, sortProbe } from "../../src/bulk/probes.js";
import { InventoryClient } from "../../src/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { LISTS } from "../../src/service/lists.js";

const page = (records: object[], totalCount = records.length) => ({
  value: records,
  totalCount,
  page: 1,
  pageSize: 1,
  pageCount: 1,
  hasMore: false,
});

/** Returns a function that reads a page from a service with this response; with `ever`, to a request for 1970. */
function read(answer: object, status: number, ever: object = answer) {
  const { baseUrl, credentials, fetch } = createSandbox({
    rewrite(response, { url }) {
      if (url.includes("/Token")) return response;
      return Response.json(url.includes("modifiedSince=1970") ? ever : answer, { status });
    },
  });
  const client = new InventoryClient({
    baseUrl,
    ...credentials,
    fetch,
    retry: false,
    responseValidation: "off",
  });
  return (params: object) => client.items.list(params).page();
}

const refusal = { code: "error", message: "No." };

describe("whether a list honours modifiedSince", () => {
  it.each([
    ["it has a record that was modified in ten years", page([{ partNo: 1 }]), 200, "ignored"],
    ["it has none for any date", page([]), 200, "always-empty"],
    ["it has none for any date, though it counts some", page([], 300), 200, "always-empty"],
    ["it rejects the date", refusal, 400, "ignored"],
    ["it has not implemented the parameter", refusal, 501, "ignored"],
    ["it fails", refusal, 500, undefined],
    ["it is not available", refusal, 503, undefined],
  ])("%s", async (_answer, body, status, concluded) => {
    expect(await probeModifiedSince(read(body, status))).toBe(concluded);
  });

  it.each([
    ["all since 1970", page([{ partNo: 1 }]), "honoured"],
    ["none since 1970, though it counts some", page([], 300), "always-empty"],
  ])("it has none in ten years, and %s", async (_answer, ever, concluded) => {
    expect(await probeModifiedSince(read(page([], 300), 200, ever))).toBe(concluded);
  });

  it.each([401, 403, 404, 429])("a %i says nothing about dates", async (status) => {
    await expect(probeModifiedSince(read(refusal, status))).rejects.toMatchObject({ status });
    await expect(answerOf(read(refusal, status)({}))).rejects.toMatchObject({ status });
  });

  it("asks for one record, later than any clock, and then for one since 1970", async () => {
    const now = Date.parse("2026-01-31T00:00:00Z");
    const asked: object[] = [];
    await probeModifiedSince(async (params) => {
      asked.push(params);
      return page([]);
    }, now);
    expect(asked).toEqual([
      { modifiedSince: "2036-01-29T00:00:00.000Z", pageSize: 1 },
      { modifiedSince: "1970-01-01T00:00:00.000Z", pageSize: 1 },
    ]);
    expect(asked[0]).toEqual(modifiedSinceProbe.params(now));
  });
});

describe("whether a list honours sort", () => {
  it.each([
    ["items are descending", "items", [{ shortID: "B" }, { shortID: "A" }], true],
    ["items are ascending, as without sort", "items", [{ shortID: "A" }, { shortID: "B" }], false],
    ["lots are ascending", "lots", [{ recNo: 1 }, { recNo: 2 }], true],
    ["lots are descending, as without sort", "lots", [{ recNo: 2 }, { recNo: 1 }], false],
    ["there is one record", "stockLevels", [{ partNo: 1 }], undefined],
  ] as const)("%s", (_order, name, value, isHonoured) => {
    expect(sortProbe.isHonoured({ value: [...value] }, LISTS[name])).toBe(isHonoured);
  });
});
