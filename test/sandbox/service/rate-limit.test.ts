import { createSandbox, type SandboxRateLimit } from "stocklot/sandbox";
import { expect, it } from "vitest";
import { callerOf } from "../support/caller.js";

const START = Date.UTC(2025, 0, 1, 0, 0, 30);

function limited(rateLimit: SandboxRateLimit) {
  let now = START;
  const clients = [
    { clientId: "one", clientSecret: "s" },
    { clientId: "two", clientSecret: "s" },
  ];
  const sandbox = createSandbox({ now: () => now, rateLimit, clients });
  return {
    sandbox,
    one: callerOf(sandbox),
    two: callerOf(sandbox, { clientId: "two", clientSecret: "s" }),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

it("is 100 requests a minute by default, token requests included, and responds with a message and nothing else", async () => {
  const api = callerOf(createSandbox());
  for (let request = 2; request <= 100; request += 1) expect((await api.get("/Item?pageSize=1")).status).toBe(200);
  const { status, body, headers } = await api.get("/Item");
  expect([status, body]).toEqual([429, { message: "Rate Limit Exceeded. 100 per Minute" }]);
  expect(headers.get("retry-after")).toBeNull();
});

it("slides: at most the limit in any window of that length", async () => {
  const { one, pass } = limited({ requests: 3, intervalMs: 60_000 });
  const ask = async () => (await one.get("/Item")).status;
  expect(await ask()).toBe(200); // and the token request
  pass(40_000);
  expect([await ask(), await ask()]).toEqual([200, 429]);
  pass(19_999);
  expect(await ask()).toBe(429);
  pass(1);
  expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
});

it("or is fixed: counted from zero at each multiple of the interval", async () => {
  const { one, pass } = limited({ requests: 3, intervalMs: 60_000, window: "fixed" });
  const ask = async () => (await one.get("/Item")).status;
  expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
  pass(29_999);
  expect(await ask()).toBe(429);
  pass(1);
  expect([await ask(), await ask(), await ask(), await ask()]).toEqual([200, 200, 200, 429]);
});

it("counts for each client by itself, or for the address", async () => {
  const perClient = limited({ requests: 2 });
  await perClient.one.get("/Item");
  expect((await perClient.one.get("/Item")).status).toBe(429);
  expect((await perClient.two.get("/Item")).status).toBe(200);

  const perAddress = limited({ requests: 2, per: "address" });
  await perAddress.one.get("/Item");
  expect((await perAddress.two.requestToken()).status).toBe(429);
});

it("sends Retry-After on demand, in seconds or as a date", async () => {
  const seconds = limited({ requests: 1, retryAfter: "seconds" });
  await seconds.one.requestToken();
  seconds.pass(15_500);
  expect((await seconds.one.requestToken()).headers.get("retry-after")).toBe("45");
  const date = limited({ requests: 1, retryAfter: "date" });
  await date.one.requestToken();
  expect((await date.one.requestToken()).headers.get("retry-after")).toBe("Wed, 01 Jan 2025 00:01:30 GMT");
});

it("reports in the request log how many requests were left", async () => {
  const { one, sandbox } = limited({ requests: 3 });
  for (let request = 0; request < 3; request += 1) await one.get("/Item");
  expect(sandbox.requests.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0]);
});
