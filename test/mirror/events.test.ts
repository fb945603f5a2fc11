import { expect, it } from "vitest";
import { createMirror, type MirrorEvent, type MirrorProgress } from "../../src/mirror/index.js";
import { MemorySink } from "../support/memory-sink.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";

function setUp() {
  const service = new ChangingService(seededRandom(1));
  for (let left = 40; left > 0; left -= 1) service.addItem();
  for (let left = 1_000; left > 0; left -= 1) service.addLot();
  return { service, sink: new MemorySink() };
}

it("events that were awaited are not emitted again after a graceful stop", async () => {
  const { service, sink } = setUp();
  const received: string[] = [];
  const onEvent = ({ resource, key }: MirrorEvent) => void received.push(`${resource}/${key}`);
  for (let stops = 0; stops < 4; stops += 1) {
    const stop = new AbortController();
    const onProgress = ({ resource }: MirrorProgress) => resource === "lots" && stop.abort();
    const mirror = createMirror({ client: service.client(), sink, onEvent });
    await mirror.run({ signal: stop.signal, onProgress }).catch(() => {});
  }
  await createMirror({ client: service.client(), sink, onEvent }).run();
  expect(new Set(received).size).toBe(received.length);
  expect(received.filter((key) => key.startsWith("lots/"))).toHaveLength(1_000);
});

it("events that were awaited are not emitted again after the service failed", async () => {
  const { service, sink } = setUp();
  let events = 0;
  const onEvent = () => {
    events += 1;
  };
  const mirror = createMirror({ client: service.client(), sink, onEvent });
  let left = 5;
  service.beforePage = () => {
    left -= 1;
    if (left === 0) throw new Error("interrupted");
  };
  await expect(mirror.run()).rejects.toThrow();
  await mirror.run();
  expect(events).toBe(sink.all("items").size + sink.all("lots").size + sink.all("stockLevels").size);
});

it("a run without a listener leaves what an earlier one could not emit to the next one", async () => {
  const { service, sink } = setUp();
  const onEvent = () => {
    throw new Error("the listener failed");
  };
  await expect(createMirror({ client: service.client(), sink, onEvent }).run()).rejects.toThrow("the listener failed");
  await createMirror({ client: service.client(), sink }).run();
  const received: string[] = [];
  const listener = ({ resource, type }: MirrorEvent) => void received.push(`${resource} ${type}`);
  await createMirror({ client: service.client(), sink, onEvent: listener }).run();
  expect(received).toEqual(Array.from({ length: sink.all("items").size }, () => "items added"));
});

it("an event names the key that the sink uses", async () => {
  const { service, sink } = setUp();
  const keys: unknown[] = [];
  const onEvent = ({ resource, key }: MirrorEvent) => {
    if (resource === "warehouseStockLevels") keys.push(key);
  };
  await createMirror({ client: service.client(), sink, onEvent, warehouses: [2] }).run();
  expect(keys).toEqual([...sink.all("warehouseStockLevels").keys()]);
  expect(keys[0]).toMatch(/^2\/\d+$/);
});
