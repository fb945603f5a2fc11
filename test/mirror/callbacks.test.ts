import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMirror, type MirrorOptions } from "../../src/mirror/index.js";
import { MemorySink } from "../support/memory-sink.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";

const unhandled: unknown[] = [];
const remember = (reason: unknown) => void unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", remember);
});
afterEach(async () => {
  await delay(20);
  process.off("unhandledRejection", remember);
  expect(unhandled).toEqual([]);
});

const failure = new Error("callback");

describe.each([
  [
    "throws",
    () => {
      throw failure;
    },
  ],
  ["rejects", () => Promise.reject(failure)],
  ["rejects later", () => delay(2).then(() => Promise.reject(failure))],
])("a callback that %s", (_, callback) => {
  const newMirror = (options: Partial<MirrorOptions> = {}) => {
    const service = new ChangingService(seededRandom(1), { maxPageSize: 10 });
    for (let left = 100; left > 0; left -= 1) service.addItem();
    return createMirror({ client: service.client(), sink: new MemorySink(), resources: ["items"], ...options });
  };

  it("ends a run with its error, as onEvent", async () => {
    await expect(newMirror({ onEvent: callback }).run()).rejects.toBe(failure);
  });

  it("ends a run with its error, as onProgress", async () => {
    await expect(newMirror().run({ onProgress: callback })).rejects.toBe(failure);
  });

  it("ends a watch with its error, as onEvent, onProgress or onReport", async () => {
    await expect(newMirror({ onEvent: callback }).watch({ everyMs: 1 })).rejects.toBe(failure);
    await expect(newMirror().watch({ everyMs: 1, onProgress: callback })).rejects.toBe(failure);
    await expect(newMirror().watch({ everyMs: 1, onReport: callback })).rejects.toBe(failure);
  });

  it("is reported to onError, as onReport", async () => {
    const controller = new AbortController();
    const errors: unknown[] = [];
    const onError = (error: unknown) => {
      errors.push(error);
      if (errors.length === 2) controller.abort();
    };
    await newMirror().watch({ everyMs: 1, signal: controller.signal, onReport: callback, onError });
    expect(errors).toEqual([failure, failure]);
  });

  it("ends a watch with its error, as onError", async () => {
    const watch = newMirror().watch({
      everyMs: 1,
      onReport: () => Promise.reject(new Error("report")),
      onError: callback,
    });
    await expect(watch).rejects.toBe(failure);
  });

  it("does not hide that a watch was aborted", async () => {
    const controller = new AbortController();
    const onReport = async () => {
      controller.abort();
      await callback();
    };
    const watch = newMirror().watch({ everyMs: 1, signal: controller.signal, onReport, onError: callback });
    await expect(watch).resolves.toBeUndefined();
  });
});
