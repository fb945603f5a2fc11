import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { callSafely } from "../../src/shared/time/callback.js";
import { CallCancellation, SharedCancellation } from "../../src/shared/time/cancellation.js";
import { afterMs, race, whenAborted } from "../../src/shared/time/wait.js";
import { useCountedTimers } from "../support/own-timers.js";

const never = () => new Promise<never>(() => {});
const tooLong = () => new Error("too long");

describe("a race", () => {
  it("that a promise wins leaves no timer and no listener", async () => {
    const timers = useCountedTimers();
    const controller = new AbortController();
    expect(await race(Promise.resolve(1), afterMs(100, tooLong), whenAborted(controller.signal))).toBe(1);
    await Promise.resolve();
    expect(timers()).toBe(0);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("ends when the time has passed, and a rejection after that is handled", async () => {
    const timers = useCountedTimers();
    let rejectLate = (_: Error) => {};
    const late = new Promise((_, reject) => (rejectLate = reject));
    const raced = expect(race(late, afterMs(100, tooLong))).rejects.toThrow("too long");
    await vi.advanceTimersByTimeAsync(99);
    expect(timers()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await raced;
    rejectLate(new Error("late"));
    // An unhandled rejection would fail the run.
    await vi.advanceTimersByTimeAsync(1);
  });

  it("ends with the reason of a signal, also one that was aborted before, and leaves no timer", async () => {
    const timers = useCountedTimers();
    const reason = new Error("left");
    const aborted = whenAborted(AbortSignal.abort(reason));
    await expect(race(never(), afterMs(100, tooLong), aborted)).rejects.toBe(reason);
    await expect(race(never(), aborted, afterMs(100, tooLong))).rejects.toBe(reason);
    const controller = new AbortController();
    const raced = race(never(), afterMs(100, tooLong), whenAborted(controller.signal));
    controller.abort(reason);
    await expect(raced).rejects.toBe(reason);
    expect(timers()).toBe(0);
  });
});

describe("a cancellation that calls share", () => {
  it("is canceled when the last of them has left, and keeps the deadline of each", async () => {
    const shared = new SharedCancellation();
    const [patient, hasty] = [new CallCancellation(), new CallCancellation([], 1_000)];
    const ends = [patient, hasty].map((call) => shared.join(call, never()).catch((error: unknown) => error));
    shared.cancelIfDeadlineBefore(2_000);
    expect(await ends[1]).toMatchObject({ reason: { kind: "out-of-time", totalTimeoutMs: 1_000, isEarly: true } });
    expect(shared.reason).toBeUndefined();
    patient.cancel({ kind: "closed" });
    await ends[0];
    expect(shared.reason).toMatchObject({ kind: "aborted", reason: { name: "AbortError" } });
  });
});

it("a callback that throws or rejects reports its error once", async () => {
  const errors: unknown[] = [];
  const note = (error: unknown) => void errors.push(String(error));
  callSafely(() => {
    throw "thrown";
  }, note);
  callSafely(() => Promise.reject("rejected"), note);
  await new Promise(setImmediate);
  expect(errors).toEqual(["thrown", "rejected"]);
});
