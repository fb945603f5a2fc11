import Bottleneck from "bottleneck";
import { afterEach, describe, expect, it } from "vitest";
import { createBottleneckRateLimiter } from "../../src/bottleneck/index.js";
import { ConfigurationError, ConnectionError } from "../../src/index.js";
import { clientOf } from "../connection/server.js";
import { useLoopTime } from "../support/loop-time.js";
import { ITEM } from "../support/records.js";

const made: Bottleneck[] = [];

function bottleneckOf(options: Bottleneck.ConstructorOptions): Bottleneck {
  const bottleneck = new Bottleneck(options);
  made.push(bottleneck);
  return bottleneck;
}

afterEach(() => Promise.all(made.splice(0).map((bottleneck) => bottleneck.disconnect())));

const respondingService = async (bottleneck: Bottleneck, delayMs = 0) => {
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
  it("keeps to its reservoir, the token request included", async () => {
    useLoopTime();
    const bottleneck = bottleneckOf({ reservoir: 4 });
    const { client, sentAt } = await respondingService(bottleneck);
    const calls = Promise.allSettled(Array.from({ length: 5 }, () => client.items.get("X", { totalTimeoutMs: 150 })));
    const results = await calls;
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect(sentAt).toHaveLength(3);
  });

  it("lets go of its jobs when calls are aborted", async () => {
    const bottleneck = bottleneckOf({ maxConcurrent: 1 });
    const { client } = await respondingService(bottleneck, 20);
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
    const { client } = await respondingService(bottleneck);
    const call = client.items.get("X");
    const failed = expect(call).rejects.toThrow(ConnectionError);
    await expect.poll(() => bottleneck.counts().QUEUED).toBe(1);
    await bottleneck.stop({ dropWaitingJobs: true });
    await failed;
  });

  it("sends on what has started when its job expires, and fails nobody else", async () => {
    const bottleneck = bottleneckOf({ maxConcurrent: 1 });
    const expiring = bottleneckOf({ maxConcurrent: 1 });
    expiring.schedule = ((options: object, task: () => Promise<void>) =>
      bottleneck.schedule({ ...options, expiration: 30 }, task)) as typeof expiring.schedule;
    const { client } = await respondingService(expiring, 80);
    await client.items.get("X");
    const results = await Promise.allSettled(Array.from({ length: 4 }, () => client.items.get("X")));
    expect(results.map(({ status }) => status)).toEqual(Array(4).fill("fulfilled"));
  });
});

it.each([undefined, {}, { requests: 5, intervalMs: 1_000 }])("refuses what is no Bottleneck: %j", (given) => {
  const create = () => Reflect.apply(createBottleneckRateLimiter, undefined, [given]);
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(/must be called with a Bottleneck/);
});
