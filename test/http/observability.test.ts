import { expect, it } from "vitest";
import { VERSION } from "../../src/index.js";
import { endMessages, recordMessages, SECRET, sandboxClient, subscribeInTest } from "../support/channels.js";

it("the channels report the events of a call, its retries, pauses and tokens", async () => {
  const { sandbox, client } = sandboxClient();
  const [item] = await client.items.list().toArray({ limit: 1 });
  sandbox.addFault({ path: "/Item", times: 1, fault: 503 });
  sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
  const heard = recordMessages();
  await client.items.get(item?.shortID ?? "");
  expect(heard.map(({ message }) => message.type)).toEqual([
    ...["start", "request", "response", "retry"],
    ...["request", "response", "rateLimited", "retry"],
    ...["request", "response", "end"],
  ]);
  const one = { call: heard[0]?.message.type === "start" ? heard[0].message.call : 0, method: "GET", path: "/Item" };
  for (const { message } of heard) expect(message).toMatchObject(one);
  expect(heard.map(({ channel }) => channel)).toEqual([
    ...["stocklot:request", "stocklot:request", "stocklot:request", "stocklot:retry"],
    ...["stocklot:request", "stocklot:request", "stocklot:rate-limit", "stocklot:retry"],
    ...["stocklot:request", "stocklot:request", "stocklot:request"],
  ]);
  expect(heard[0]?.message).toEqual({ type: "start", ...one, url: `${sandbox.baseUrl}/Item` });
  expect(heard[3]?.message).toMatchObject({ attempt: 2, reason: "HTTP 503", delayMs: expect.any(Number) });
  expect(heard[6]?.message).toMatchObject({ delayMs: expect.any(Number), pausedUntil: expect.any(Number) });
  expect(heard.at(-1)?.message).toEqual({
    type: "end",
    ...one,
    startedAt: expect.any(Number),
    durationMs: expect.any(Number),
    attempts: 3,
    status: 200,
    error: undefined,
  });
});

it("the channels report how long a call took, its waits and retries included", async () => {
  const { sandbox, client } = sandboxClient();
  sandbox.addFault({ path: "/Item", times: 1, fault: 503 });
  const heard = recordMessages();
  const startedAt = performance.now();
  await expect(client.items.get("NONE")).rejects.toThrow();
  const tookMs = performance.now() - startedAt;
  const delayMs = heard.map(({ message }) => (message.type === "retry" ? message.delayMs : 0)).reduce((a, b) => a + b);
  const end = endMessages(heard).find(({ path }) => path === "/Item");
  expect(delayMs).toBeGreaterThan(0);
  // A timer may be early by a fraction of a millisecond.
  expect(end?.durationMs).toBeGreaterThan(delayMs - 2);
  expect(end?.durationMs).toBeLessThanOrEqual(tookMs);
  const attempts = heard.flatMap(({ message }) => (message.type === "response" ? message.durationMs : []));
  expect(attempts.length).toBeGreaterThan(0);
  for (const durationMs of attempts) {
    expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(durationMs).toBeLessThanOrEqual(tookMs);
  }
});

it("the channels report how a call failed, also one that was never sent, and show no secret", async () => {
  const { sandbox, client } = sandboxClient();
  const heard = recordMessages();
  await expect(client.items.get("NONE")).rejects.toThrow();
  const ends = () => endMessages(heard);
  expect(ends().map(({ path, status, error }) => [path, status, error])).toEqual([
    ["/Token", 200, undefined],
    ["/Item", 404, "NotFoundError"],
  ]);
  expect(heard.filter(({ channel }) => channel === "stocklot:token")).toHaveLength(1);
  expect(new Set(ends().map(({ call }) => call)).size).toBe(2);
  await expect(client.items.get("X", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  expect(ends().at(-1)).toMatchObject({ attempts: 0, status: undefined, error: "Error" });
  const text = JSON.stringify(heard);
  expect(text).not.toContain(SECRET);
  expect(text).not.toMatch(/bearer/i);
  expect(sandbox.requests.length).toBe(2);
});

it("a listener that changes its message changes nothing for others", async () => {
  const seen: unknown[] = [];
  const { client } = sandboxClient({ hooks: { response: (event) => void seen.push(event.path) } });
  subscribeInTest("stocklot:request", (message) => Reflect.set(Object(message), "path", "spoilt"));
  await client.items.list().page();
  expect(seen).toEqual(["/Token", "/Item"]);
});

it("the debug report contains what a bug report needs, and nothing of the caller", async () => {
  const { client } = sandboxClient({
    rateLimit: { requests: 70, reserved: 7 },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  for (let left = 55; left > 0; left -= 1) await client.items.get(`NONE-${left}`).catch(() => {});
  const report = client.debugReport();
  expect(report).toContain(`stocklot ${VERSION}, Node.js ${process.version}, ${process.platform}`);
  expect(report).toContain("\ntransport: the option fetch\n");
  expect(report).toContain('rateLimit: {"requests":70,"reserved":7}');
  expect(report).toContain("logger: (given)");
  expect(report).toMatch(/rate limit: \{"limit":70,.*"available":\d+.*\}/);
  expect(report).toContain("calls that ended last: 50\n");
  expect(report.match(/GET \/Item: 404 NotFoundError; attempts: 1, \d+ ms/g)).toHaveLength(50);
  for (const hidden of [SECRET, "acme", "127.0.0.1", "sandbox", "Bearer"]) expect(report).not.toContain(hidden);
});

it("the debug report of a new client is short, and reports that there is no limit", () => {
  const { client } = sandboxClient({ rateLimit: false });
  expect(client.debugReport()).toMatch(/rateLimit: false\n[\s\S]*"limit":"Infinity"[\s\S]*calls that ended last: 0$/);
});
