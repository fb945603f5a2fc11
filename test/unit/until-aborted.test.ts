import { expect, it } from "vitest";
import { untilAborted } from "../../src/shared/time/wait.js";

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

it("a promise that fails after the signal has aborted is no unhandled rejection", async () => {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", listener);
  const aborted = AbortSignal.abort("enough");
  let fail = (_error: Error) => {};
  const work = new Promise<never>((_, reject) => (fail = reject));
  await expect(untilAborted(aborted, work)).rejects.toBe("enough");
  fail(new Error("too late"));
  await nextTurn();
  await nextTurn();
  process.off("unhandledRejection", listener);
  expect(unhandled).toEqual([]);
});
