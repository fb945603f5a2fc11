import Bottleneck from "bottleneck";
import { afterEach, describe, expect, it } from "vitest";
import { createBottleneckRateLimiter } from "../../src/bottleneck/index.js";
import { ConfigurationError, ConnectionError } from "../../src/index.js";
import { ITEM } from "../http/service.js";
import { clientOf } from "../wire/server.js";

const made: Bottleneck[] = [];

function bottleneckOf(options: Bottleneck.ConstructorOptions): Bottleneck {
  const bottleneck = new Bottleneck(options);
  made.push(bottleneck);
  return bottleneck;
}

afterEach(() => Promise.all(made.splice(0).map((bottleneck) => bottleneck.disconnect())));

const answering = async (bottleneck: Bottleneck, delayMs = 0) => {
  const sentAt: number[] = [];
  const served = await clientOf(
    (_, response) => {
      sentAt.push(performance.now());
      setTimeout(() => response.end(JSON.stringify(ITEM)), delayMs);
    },
    { rateLimiter: createBottleneckRateLimiter(bottleneck) },
  );
  return { ...served, sentAt };
};

describe("a limiter on a Bottleneck", () => {
  it("sends no more at a time than the Bottleneck lets run, jobs of other code included", async () => {
    const bottleneck = bottleneckOf({ maxConcurrent: 3 });
    const { client } = await answering(bottleneck, 10);
    let now = 0;
    let most = 0;
    const other = () =>
      bottleneck.schedule(async () => {
        now += 1;
        most = Math.max(most, now + client.rateLimit.inFlight);
        await new Promise((resolve) => setTimeout(resolve, 10));
        now -= 1;
      });
    await Promise.all([
      ...Array.from({ length: 10 }, () => client.items.get("X")),
      ...Array.from({ length: 10 }, other),
    ]);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(3);
  });

  it("keeps to its reservoir, the token request included", async () => {
    const bottleneck = bottleneckOf({ reservoir: 4 });
    const { client, sentAt } = await answering(bottleneck);
    const calls = Promise.allSettled(Array.from({ length: 5 }, () => client.items.get("X", { totalTimeoutMs: 500 })));
    const results = await calls;
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect(sentAt).toHaveLength(3);
  });

  it("lets go of its jobs when calls are aborted", async () => {
    const bottleneck = bottleneckOf({ maxConcurrent: 1 });
    const { client } = await answering(bottleneck, 20);
    await client.items.get("X");
    const leave = new AbortController();
    const calls = Array.from({ length: 5 }, () => client.items.get("X", { signal: leave.signal }));
    leave.abort(new Error("enough"));
    await Promise.allSettled(calls);
    expect(await client.items.get("X")).toEqual(ITEM);
    await expect.poll(() => bottleneck.running()).toBe(0);
    expect(client.rateLimit).toMatchObject({ queued: 0, inFlight: 0 });
  });

  it("fails those who wait when the Bottleneck is stopped", async () => {
    const bottleneck = bottleneckOf({ maxConcurrent: 1, reservoir: 1 });
    const { client } = await answering(bottleneck);
    const call = client.items.get("X");
    const failed = expect(call).rejects.toThrow(ConnectionError);
    await expect.poll(() => bottleneck.counts().QUEUED).toBe(1);
    await bottleneck.stop({ dropWaitingJobs: true });
    await failed;
  });

  it("is refused what is no Bottleneck", () => {
    expect(() => createBottleneckRateLimiter({} as Bottleneck)).toThrow(ConfigurationError);
  });
});
