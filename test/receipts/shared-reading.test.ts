import { expect, it } from "vitest";
import { SharedReading } from "../../src/client/find/shared-reading.js";
import type { RequestOptions } from "../../src/client/index.js";
import { nextTurn } from "../../src/shared/time/turn.js";

/** Readings that end when the test says so. */
class Readings {
  readonly shared = new SharedReading<string>();
  readonly begun: { above: number; signal: AbortSignal | null | undefined; end: (value: string) => void }[] = [];

  read(above: number, options: RequestOptions = {}): Promise<string> {
    return this.shared.read(above, options, (lowest, { signal }) => {
      const { promise, resolve, reject } = withResolvers<string>();
      signal?.addEventListener("abort", () => reject(signal.reason));
      this.begun.push({ above: lowest, signal, end: resolve });
      return promise;
    });
  }
}

function withResolvers<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle));
  return { promise, resolve, reject };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

it("look-ups that are due together share a reading from the lowest number; later ones wait for the next", async () => {
  const readings = new Readings();
  const together = [readings.read(7), readings.read(5)];
  await turns();
  const later = readings.read(9);
  await turns();
  expect(readings.begun.map(({ above }) => above)).toEqual([5]);
  readings.begun[0]?.end("first");
  expect(await Promise.all(together)).toEqual(["first", "first"]);
  await turns();
  readings.begun[1]?.end("second");
  expect([await later, readings.begun.map(({ above }) => above)]).toEqual(["second", [5, 9]]);
});

it("a look-up does not join a reading that all others have left before it began", async () => {
  const readings = new Readings();
  const running = readings.read(5);
  await turns();
  const abort = new AbortController();
  const left = readings.read(5, { signal: abort.signal });
  abort.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  const joined = readings.read(6, { signal: new AbortController().signal });
  readings.begun[0]?.end("first");
  await running;
  await turns();
  readings.begun[1]?.end("second");
  expect([await joined, readings.begun.map(({ above }) => above)]).toEqual(["second", [5, 6]]);
});

it("a reading ends when the last look-up has left it", async () => {
  const readings = new Readings();
  const aborts = [new AbortController(), new AbortController()] as const;
  const calls = aborts.map(({ signal }) => readings.read(5, { signal }));
  await turns();
  aborts[0].abort(new Error("left"));
  await expect(calls[0]).rejects.toThrow("left");
  expect(readings.begun[0]?.signal?.aborted).toBe(false);
  aborts[1].abort(new Error("left, too"));
  await expect(calls[1]).rejects.toThrow("left, too");
  expect(readings.begun[0]?.signal?.aborted).toBe(true);
});
