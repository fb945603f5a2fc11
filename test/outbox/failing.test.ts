import { beforeEach, describe, expect, it } from "vitest";
import { ApiError, ServerError } from "../../src/index.js";
import type { NewOutboxEntry, OutboxStore } from "../../src/outbox/index.js";
import { memoryStore } from "../../src/outbox/stores/memory-store.js";
import { inVirtualTime, useVirtualTime, wait } from "./support/virtual-time.js";
import { createWorld, isWrite, receipt } from "./support/world.js";

beforeEach(() => useVirtualTime());

const SKUS = Array.from({ length: 12 }, (_, index) => `SKU-${index}`);
const items = SKUS.map((shortID) => ({ shortID }));
const entries: NewOutboxEntry[] = SKUS.map((itemID) => receipt(itemID, { itemID }));
const html = (status: number) => new Response("<html>No.</html>", { status, headers: { "content-type": "text/html" } });
const ownError = (status: number, message: string) =>
  Response.json({ statusCode: status, error: "forbidden", message }, { status });

/** Writes of some items get another response. */
function refuse(world: ReturnType<typeof createWorld>, skus: readonly string[], respond: () => Response) {
  world.intercept = async (request, send) => {
    if (!isWrite(request)) return send();
    const { itemID } = Object(await request.clone().json());
    return skus.includes(itemID) ? respond() : send();
  };
}

describe("one bad entry", () => {
  it.each<[string, () => Response, number]>([
    ["413", () => html(413), 413],
    ["501", () => ownError(501, "Not here."), 501],
    ["400 with HTML", () => html(400), 400],
    ["a firewall's 403", () => html(403), 403],
    ["a 404 without the service's error object", () => Response.json({}, { status: 404 }), 404],
  ])("stays pending with its error, and all others are sent: %s", async (_, respond, status) => {
    const world = createWorld({ sandbox: { items } });
    const outbox = world.createOutbox({}, { retry: false });
    await outbox.addMany(entries);
    refuse(world, ["SKU-0"], respond);
    expect(await inVirtualTime(outbox.run({ concurrency: 1 }))).toMatchObject({ applied: 11, rejected: 0, pending: 1 });
    expect(await outbox.get("SKU-0")).toMatchObject({ state: "pending", attempts: 1, error: { status } });
    refuse(world, [], respond);
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 1, pending: 0 });
    expect(await outbox.get("SKU-0")).not.toHaveProperty("error");
  });

  it("whose response is not as documented is applied, with that error", async () => {
    const world = createWorld();
    const outbox = world.createOutbox();
    await outbox.addMany([{ key: "a", operation: "create", input: { shortID: "NEW" } }, receipt("b")]);
    world.intercept = async (request, send) => {
      const response = await send();
      return request.url.endsWith("/Item") ? Response.json({ shortID: "NEW", partNo: "7" }, response) : response;
    };
    expect(await inVirtualTime(outbox.run())).toMatchObject({ applied: 2, requests: 2 });
    expect(await outbox.get("a")).toMatchObject({ state: "applied", error: { name: "ResponseValidationError" } });
    expect(await outbox.get("b")).not.toHaveProperty("error");
  });

  it("does not hide that those of many items fail in the same way: after five in a row, the run ends", async () => {
    const world = createWorld({ sandbox: { items } });
    const outbox = world.createOutbox();
    await outbox.addMany(entries);
    refuse(world, SKUS, () => html(403));
    const error = await inVirtualTime(outbox.run({ concurrency: 1 })).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 403, message: expect.stringContaining('"SKU-4"') });
    expect(await outbox.summary()).toMatchObject({ pending: 12, rejected: 0 });
    expect(world.requests("POST")).toHaveLength(0);
  });

  it("the same for the service's own 403: the entries stay rejected", async () => {
    const world = createWorld({ sandbox: { items } });
    const outbox = world.createOutbox();
    await outbox.addMany(entries);
    refuse(world, SKUS, () => ownError(403, "Insufficient permissions."));
    const error = await inVirtualTime(outbox.run({ concurrency: 1 })).catch((error: unknown) => error);
    expect(error).toMatchObject({ status: 403, reason: "insufficient-permissions" });
    expect(await outbox.summary()).toMatchObject({ pending: 7, rejected: 5 });
    expect(await outbox.get("SKU-4")).toMatchObject({ error: { message: expect.not.stringContaining("in a row") } });
  });

  it.each<[string, (index: number) => Response | undefined]>([
    ["another status", (index) => html(index % 2 ? 413 : 403)],
    ["a success", (index) => (index % 4 ? html(413) : undefined)],
    ["a rejection for another reason", (index) => (index % 4 ? html(413) : ownError(400, "No."))],
  ])("%s in between begins a new row", async (_, respond) => {
    const world = createWorld({ sandbox: { items } });
    const outbox = world.createOutbox();
    await outbox.addMany(entries);
    let writes = 0;
    world.intercept = async (request, send) => (isWrite(request) ? (respond(writes++) ?? send()) : send());
    await inVirtualTime(outbox.run({ concurrency: 1 }));
    expect(writes).toBe(12);
  });

  it("a look-up after a refusal that fails counts, too", async () => {
    const world = createWorld({ sandbox: { items } });
    const memory = memoryStore(world.data);
    // It takes longer than a look-up, during which the next item may be claimed.
    const claim: OutboxStore["claim"] = (options) => wait(5).then(() => memory.claim(options));
    const outbox = world.createOutbox({ store: { ...memory, claim } });
    await outbox.addMany(
      SKUS.map((shortID) => ({ key: shortID, operation: "update", input: { shortID, description: "x" } })),
    );
    let writes = 0;
    // The second attempt of each is refused, and the item cannot be read.
    world.intercept = async (request, send) => {
      if (request.method === "GET") return html(403);
      if (!isWrite(request)) return send();
      writes += 1;
      return writes % 2 ? html(502) : ownError(404, "Not found.");
    };
    const error = await inVirtualTime(outbox.run({ concurrency: 1 })).catch((error: unknown) => error);
    expect(error).toMatchObject({ status: 403, message: expect.stringContaining('"SKU-4"') });
    expect(writes).toBe(10);
  });

  it("5xx of an update leaves it pending, and is no such failure", async () => {
    const world = createWorld({ sandbox: { items } });
    const outbox = world.createOutbox({}, { retry: false });
    await outbox.addMany(
      SKUS.map((shortID) => ({ key: shortID, operation: "update", input: { shortID, description: "x" } })),
    );
    world.intercept = async (request, send) => (isWrite(request) ? html(502) : send());
    const report = await inVirtualTime(outbox.run());
    expect(report).toMatchObject({ pending: 12, unknown: 0 });
    expect(await outbox.get("SKU-0")).toMatchObject({ state: "pending", error: { name: ServerError.name } });
  });
});

it("lists whose lots cannot be read leave that entry for a person, and others go on", async () => {
  const world = createWorld({ sandbox: { items } });
  const outbox = world.createOutbox({ settleMs: 10 });
  await outbox.addMany(entries);
  let writes = 0;
  world.intercept = async (request, send) => {
    if (request.method === "GET") return Response.json({ value: [{ recNo: "?" }] });
    if (!isWrite(request)) return send();
    if (writes++ === 0)
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNRESET" }) });
    return send();
  };
  expect(await inVirtualTime(outbox.run({ concurrency: 1 }))).toMatchObject({ applied: 11, unknown: 1 });
});
