import { describe, expect, it } from "vitest";
import { type Exchange, exchange, type WireRequest } from "../../src/client/transport/exchange.js";
import { Lifetime } from "../../src/shared/time/abort.js";
import { collectGarbage } from "../support/garbage.js";

const request: WireRequest = {
  method: "GET",
  target: "/Inventory",
  headers: {},
  body: undefined,
  timeoutMs: 10_000,
  maxResponseBytes: 1_000,
  signal: new Lifetime([], Infinity),
  beforeFirstByte() {},
};

describe("an exchange that has ended", () => {
  it("keeps no response, however long the transport keeps the exchange", async () => {
    const kept: Exchange[] = [];
    const exchangeOnce = async () => {
      const { response } = await exchange(request, async (_, open) => {
        kept.push(open);
        open.sent = true;
        open.receiveHead(200, {}, {});
        open.receiveChunk(new Uint8Array(1_000));
        open.complete();
      });
      return response && { status: response.status, body: new WeakRef(response.body) };
    };
    const received = await exchangeOnce();
    // A weak reference keeps its object until the end of the current job.
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(kept).toHaveLength(1);
    expect(received?.status).toBe(200);
    expect(received?.body.deref()).toBeUndefined();
  });
});
