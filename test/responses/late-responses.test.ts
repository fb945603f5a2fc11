import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryTokenStore } from "../../src/client/auth/token-store.js";
import { InventoryClient } from "../../src/index.js";
import { newItem } from "../support/records.js";

/** Creates a client whose responses the test sends. `sent` has one function per request, in the order of the requests. */
function manualClient() {
  const sent: ((response: Response) => void)[] = [];
  let tokens = 0;
  const tokenStore = createMemoryTokenStore();
  const get = vi.spyOn(tokenStore, "get");
  const authorizations: string[] = [];
  const client = new InventoryClient({
    baseUrl: "https://inventory.test/api/v1",
    clientId: "scanner",
    clientSecret: "secret-of-the-scanner",
    rateLimit: false,
    retry: false,
    tokenStore,
    fetch: (url, init) => {
      if (url.endsWith("/Token")) {
        tokens += 1;
        return Promise.resolve(Response.json({ access_token: `token-0123456789-${tokens}`, expires_in: 3_600 }));
      }
      authorizations.push(new Headers(init.headers).get("authorization") ?? "");
      return new Promise((resolve) => sent.push(resolve));
    },
  });
  const getItem = () => client.items.get("BOLT").catch((error: unknown) => error);
  const pausedUntil = () => client.rateLimit.pausedUntil;
  return { sent, getItem, authorizations, pausedUntil, tokens: () => tokens, reads: () => get.mock.calls.length };
}

const refused = () => Response.json({ message: "expired" }, { status: 401 });
const limited = (headers = {}) => Response.json({ message: "too many" }, { status: 429, headers });
const item = () => Response.json(newItem());

it("a 401 for an older token does not discard the newer one", async () => {
  const { sent, getItem, authorizations, tokens, reads } = manualClient();
  const [early, late] = [getItem(), getItem()];
  await expect.poll(() => sent.length).toBe(2);
  sent[0]?.(refused());
  await expect.poll(() => sent.length).toBe(3);
  sent[2]?.(item());
  expect(await early).toMatchObject({ shortID: "BOLT" });
  const readsBefore = reads();
  sent[1]?.(refused());
  await expect.poll(() => sent.length).toBe(4);
  sent[3]?.(item());
  expect(await late).toMatchObject({ shortID: "BOLT" });
  expect({ tokens: tokens(), reads: reads() }).toEqual({ tokens: 2, reads: readsBefore });
  expect(authorizations[3]).toBe(authorizations[2]);
});

describe("a second 429 of requests that were sent together", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  it.each([
    ["without Retry-After", {}],
    ["with a shorter Retry-After of its own", { "retry-after": "1" }],
    ["with a longer Retry-After of its own", { "retry-after": "120" }],
  ])("has the rest of the pause as its waiting time, %s", async (_, headers) => {
    const { sent, getItem, pausedUntil } = manualClient();
    const [first, second] = [getItem(), getItem()];
    await expect.poll(() => sent.length).toBe(2);
    sent[0]?.(limited({ "retry-after": "60" }));
    expect(await first).toMatchObject({ name: "RateLimitError", retryAfterMs: 60_000 });
    vi.advanceTimersByTime(20_000);
    sent[1]?.(limited(headers));
    expect(await second).toMatchObject({ name: "RateLimitError", retryAfterMs: 40_000 });
    expect(pausedUntil()).toBe(Date.now() + 40_000);
  });
});

it("a response whose content-length is too large is refused before its body arrives", async () => {
  const { sent, getItem } = manualClient();
  const call = getItem();
  await expect.poll(() => sent.length).toBe(1);
  sent[0]?.(new Response(new ReadableStream(), { headers: { "content-length": String(2 ** 40) } }));
  expect(await call).toMatchObject({ message: expect.stringMatching(/larger than/) });
});
