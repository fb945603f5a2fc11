import { afterEach, expect, test, vi } from "vitest";
import { VirtualTime } from "./virtual-time.js";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("virtual time ends, though something that another file left in this process sets timer after timer", async () => {
  let turns = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const turn = () => {
    turns += 1;
    timer = setTimeout(turn, 1);
  };
  turn();
  try {
    const time = new VirtualTime().install();
    let isDue = false;
    setTimeout(() => {
      isDue = true;
    }, 3_600_000);
    await vi.waitUntil(() => turns > 3);
    await time.run();
    expect({ isDue, now: performance.now() }).toEqual({ isDue: true, now: 3_601_000 });
    expect(turns).toBeLessThan(3_600);
  } finally {
    clearTimeout(timer);
  }
});
