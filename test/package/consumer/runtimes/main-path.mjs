// Uses the client step by step, as a program does. It runs on any runtime, because it imports no module of Node.js.
import { InventoryClient } from "stocklot";

/** Takes all steps against the services, and returns what went wrong, by step. */
export async function runMainPath({ url, limitedUrl, refusedUrl, credentials }) {
  const failed = {};
  let steps = 0;
  let transport = "undici";
  const { fetch } = globalThis;
  globalThis.fetch = (...request) => {
    transport = "fetch";
    return fetch(...request);
  };
  const step = async (name, run) => {
    steps += 1;
    await run().catch((error) => (failed[name] = String(error?.stack ?? error)));
  };
  const errorOf = (promise) => promise.then(() => "no error").catch((error) => error);
  const expectError = (error, name) => check(name, error?.name, `${error?.message} ${error?.cause?.message ?? ""}`);
  const retry = { minDelayMs: 1, maxDelayMs: 2, rateLimitDelayMs: [300, 600] };
  const connect = (baseUrl, options) =>
    new InventoryClient({ baseUrl, ...credentials, rateLimit: { requests: 1000 }, retry, ...options });

  const client = connect(url);

  await step("reads an item", async () => check("BOLT-M8", (await client.items.get("BOLT-M8")).shortID));
  await step("reads one page", async () => check(10, (await client.items.list({ pageSize: 10 }).page()).value.length));
  await step("reads every lot", async () => {
    const seen = new Set();
    for await (const lot of client.inventory.listLots({ pageSize: 200 })) seen.add(lot.recNo);
    check(600, seen.size);
  });
  await step("reads every lot without a gap, in parallel", async () => {
    const lots = await client.inventory.listLots({ pageSize: 100 }, { gapless: true, readAhead: 3 }).toArray();
    check(600, new Set(lots.map((lot) => lot.recNo)).size);
  });
  await step("creates and updates an item", async () => {
    check("created", (await client.items.create({ shortID: "MAIN-PATH-M8", description: "Möbelmutter €" })).status);
    check("updated", (await client.items.update("MAIN-PATH-M8", { description: "Mutter" })).status);
    check("Mutter", (await client.items.get("MAIN-PATH-M8")).description);
  });
  await step("receives, moves and issues", async () => {
    const lot = { itemID: "BOLT-M8", wid: 1 };
    check("number", typeof (await client.inventory.receive({ ...lot, units: 5, reasonCode: 1, spot: "A-01" })).recNo);
    await client.inventory.move({ ...lot, units: 2, fromSpot: "A-01", toSpot: "B-07" });
    await client.inventory.issue({ ...lot, units: 1, reasonCode: 2 });
  });
  await step("finds a receipt whose response was lost", async () => {
    const input = { itemID: "BOLT-M8", units: 7, wid: 1, reasonCode: 1, remark: "Lieferung 4711 – geprüft" };
    const error = await errorOf(client.inventory.receive(input));
    expectError(error, "OutcomeUnknownError");
    const { outcome, lots } = await client.inventory.findReceipt(error, { settleMs: 0 });
    check("applied 7", `${outcome} ${lots[0]?.units}`);
  });
  await step("never reports a write that was cut off as not sent", async () => {
    expectError(
      await errorOf(client.request({ method: "POST", path: "/Cut", body: { text: "é" } })),
      "OutcomeUnknownError",
    );
  });
  await step("never reports a write that reached nobody as applied", async () => {
    const unreachable = connect(refusedUrl, { retry: false });
    const error = await errorOf(unreachable.inventory.receive({ itemID: "BOLT-M8", units: 1, wid: 1, reasonCode: 1 }));
    // Not even a token can be requested.
    expectError(error, "ConnectionError");
  });
  await step("is notified of an unknown item", async () => {
    expectError(await errorOf(client.items.get("no such SKU")), "NotFoundError");
  });
  await step("is notified of an invalid field by the service", async () => {
    expectError(
      await errorOf(client.request({ method: "POST", path: "/Inventory/Receive", body: {} })),
      "ValidationError",
    );
  });
  await step("refuses wrong arguments itself", async () => {
    expectError(await errorOf(client.inventory.listLots({ wid: "3" }).toArray()), "InputValidationError");
  });
  await step("is notified of wrong credentials, and does not show the secret", async () => {
    const wrong = connect(url, { clientSecret: "a-wrong-secret-0123456789" });
    const error = await errorOf(wrong.items.get("BOLT-M8"));
    expectError(error, "AuthenticationError");
    check(false, JSON.stringify(error).includes("a-wrong-secret-0123456789"));
  });
  await step("retries a read after an error of the service", async () => {
    check("BOLT-M8", (await client.request({ method: "GET", path: "/Item/1001" })).shortID);
  });
  await step("is notified of a body that was cut off, after retries", async () => {
    expectError(await errorOf(client.request({ method: "GET", path: "/Item/1002" })), "ConnectionError");
  });
  await step("pauses after a 429, then continues", async () => {
    const limited = connect(limitedUrl, { rateLimit: false });
    const items = await Promise.all(Array.from({ length: 8 }, () => limited.items.get("BOLT-M8")));
    check(8, items.length);
    await limited.close();
  });
  await step("stays within its own limit", async () => {
    // The requests of the previous step no longer count.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const paced = connect(limitedUrl, { rateLimit: { requests: 4, intervalMs: 1_100 }, retry: false });
    await Promise.all(Array.from({ length: 6 }, () => paced.items.get("BOLT-M8")));
    await paced.close();
  });
  await step("aborts a call with the caller's reason", async () => {
    const abort = new AbortController();
    const reason = new Error("no longer needed");
    setTimeout(() => abort.abort(reason), 50);
    check(reason, await errorOf(client.request({ method: "GET", path: "/Hang" }, { signal: abort.signal })));
  });
  await step("ends an attempt after timeoutMs, and a call after totalTimeoutMs", async () => {
    const hang = (options) => errorOf(client.request({ method: "GET", path: "/Hang" }, options));
    const attempt = await hang({ timeoutMs: 50, retry: false });
    expectError(attempt, "TimeoutError");
    check("timeoutMs", attempt.clock);
    const whole = await hang({ totalTimeoutMs: 100 });
    expectError(whole, "TimeoutError");
    check("totalTimeoutMs", whole.clock);
  });
  await step("leaves the outcome of a write open that timed out", async () => {
    const error = await errorOf(client.request({ method: "POST", path: "/Hang", body: {} }, { timeoutMs: 500 }));
    expectError(error, "OutcomeUnknownError");
  });
  await step("reports hooks and the final response", async () => {
    const events = [];
    const observed = connect(url, { hooks: { response: (event) => events.push(event.status) } });
    let status = 0;
    await observed.items.get("BOLT-M8", { onResponse: (response) => (status = response.status) });
    check("200,200 200", `${events} ${status}`);
    await observed.close();
  });
  await step("closes", async () => {
    await client.close();
    expectError(await errorOf(client.items.get("BOLT-M8")), "ClientClosedError");
  });
  globalThis.fetch = fetch;
  return { steps, failed, transport };
}

function check(expected, actual, detail = "") {
  if (actual !== expected) throw new Error(`expected ${expected}, not ${actual} ${detail}`);
}
