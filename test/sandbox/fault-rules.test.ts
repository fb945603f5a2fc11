import { createSandbox } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { callerOf } from "./support/caller.js";

describe("fault rules", () => {
  const statuses = async (sandbox: ReturnType<typeof createSandbox>, paths: readonly string[]) => {
    const api = callerOf(sandbox);
    await api.authorization();
    const result: number[] = [];
    for (const path of paths) result.push((await api.get(path)).status);
    return result;
  };

  it("strike by method and path, with a star for anything", async () => {
    const rule = (path: string | RegExp) => createSandbox({ faults: [{ path, method: "get", fault: 503 }] });
    expect(await statuses(rule("/Item"), ["/Item", "/Item?page=2", "/Item/All"])).toEqual([503, 503, 200]);
    expect(await statuses(rule("/Inventory*"), ["/Item", "/Inventory", "/Inventory/2"])).toEqual([200, 503, 503]);
    expect(await statuses(rule(/\/\d+$/g), ["/Inventory", "/Inventory/2", "/Inventory/2"])).toEqual([200, 503, 503]);
    const post = createSandbox({ faults: [{ path: "/Item", method: "POST", fault: 503 }] });
    expect(await statuses(post, ["/Item"])).toEqual([200]);
  });

  it("skip matches, apply the given number of times, and then stop", async () => {
    const sandbox = createSandbox({ faults: [{ path: "/Item", skip: 1, times: 2, fault: 500 }] });
    expect(await statuses(sandbox, Array(5).fill("/Item"))).toEqual([200, 500, 500, 200, 200]);
  });

  it("strike a share of the requests, the same ones each time", async () => {
    const faults = [{ path: "/Item/1", probability: 0.3, fault: 500 }];
    const run = () => statuses(createSandbox({ faults, rateLimit: false }), Array(200).fill("/Item/1"));
    const [first, second] = [await run(), await run()];
    expect(first).toEqual(second);
    const spoiled = first.filter((status) => status === 500).length;
    expect(spoiled).toBeGreaterThan(30);
    expect(spoiled).toBeLessThan(90);
  });

  it("count in the order they were given, can be added and cleared, and come back with a reset", async () => {
    const sandbox = createSandbox({ faults: [{ path: "/Item", times: 1, fault: 500 }], rateLimit: false });
    sandbox.addFault({ path: "/Item", fault: 501 });
    expect(await statuses(sandbox, ["/Item", "/Item"])).toEqual([500, 501]);
    sandbox.clearFaults();
    expect(await statuses(sandbox, ["/Item"])).toEqual([200]);
    sandbox.reset();
    expect(await statuses(sandbox, ["/Item", "/Item"])).toEqual([500, 200]);
  });
});
