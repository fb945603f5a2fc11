import { get } from "node:http";
import axe from "axe-core";
import { createSandbox, type Sandbox, type SandboxServer } from "stocklot/sandbox";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import document from "../../../openapi.json" with { type: "json" };
import { type Browser, browserMissingReason, collectErrors, launchBrowser } from "../../support/browser.js";
import { callerOf } from "../support/caller.js";

describe.skipIf(browserMissingReason("The tests of the sandbox's page"))("the page of the sandbox, in Chromium", () => {
  let browser: Browser;
  let sandbox: Sandbox;
  let server: SandboxServer;

  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterEach(() => server.close());
  afterAll(() => browser?.close());

  async function open() {
    sandbox = createSandbox({
      items: [{ shortID: "<b>BOLT</b>" }, { shortID: "NUT" }],
      lots: [
        { shortID: "<b>BOLT</b>", units: 12.5 },
        { shortID: "NUT", units: 4, hold: true },
        { shortID: "NUT", units: 7, wID: 2 },
      ],
    });
    server = await sandbox.listen({ page: true });
    const page = await browser.newPage();
    const problems = collectErrors(page);
    await page.goto(new URL("/", server.url).href);
    await page.getByText("live", { exact: true }).waitFor();
    const rows = async (table: string) => {
      const lines = await page.locator(`#${table} tbody tr`).all();
      return Promise.all(lines.map((line) => line.locator("td").allTextContents()));
    };
    return { page, rows, problems };
  }

  it("shows what is in stock in each warehouse", async () => {
    const { rows, page, problems } = await open();
    await page.getByText("Central").waitFor();
    expect(await rows("stock")).toEqual([
      ["1", "Central", "2", "2", "16.5", "4", "12.5"],
      ["2", "North", "1", "1", "7", "0", "7"],
      ["3", "South", "0", "0", "0", "0", "0"],
      ["4", "Returns", "0", "0", "0", "0", "0"],
    ]);
    expect(problems).toEqual([]);
  });

  it("shows requests, the rate window and transactions as they happen", async () => {
    const { rows, page, problems } = await open();
    const api = callerOf(sandbox);
    await api.post("/Inventory/Move", { itemID: "<b>BOLT</b>", units: 2.5, wid: 1, shipToWid: 3 });
    await api.get("/Item/0?a=b");
    await page.locator("#requests").getByText("/Item/0?a=b").waitFor();
    expect((await rows("requests")).map((cells) => cells.slice(1))).toEqual([
      ["GET", "/Item/0?a=b", "404", "sandbox-client", "97"],
      ["POST", "/Inventory/Move", "200", "sandbox-client", "98"],
      ["POST", "/Token", "200", "sandbox-client", "99"],
    ]);
    expect((await rows("transactions")).map((cells) => cells.slice(1))).toEqual([
      ["move", "<b>BOLT</b>", "2.5", "1 to 3", "100004"],
    ]);
    expect((await rows("stock"))[2]?.slice(2)).toEqual(["1", "1", "2.5", "0", "2.5"]);
    expect(await page.locator("#rate").textContent()).toBe("sandbox-client: 3 of 100 in 60 s");
    expect(await page.locator("#rate meter").evaluate((meter) => Reflect.get(meter, "value"))).toBe(3);
    sandbox.reset();
    await page.locator("#transactions").getByText("No receipts, moves or issues yet.").waitFor();
    expect((await rows("requests"))[0]?.[0]).toContain("Paste the variables above into a terminal");
    expect((await rows("stock"))[2]?.slice(2)).toEqual(["0", "0", "0", "0", "0"]);
    expect(problems).toEqual([]);
  });

  it("links to the OpenAPI document, whose server is this sandbox", async () => {
    const { page } = await open();
    const link = page.getByRole("link", { name: "OpenAPI document" });
    const { url } = server;
    const response = await fetch(new URL((await link.getAttribute("href")) ?? "", url));
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    const base = new URL(url).pathname;
    expect(await response.json()).toEqual({ ...document, servers: [{ url: base, description: expect.any(String) }] });
    await link.click();
    await page.getByText("Inventory and Item Catalog Service").first().waitFor();
    expect(sandbox.requests).toHaveLength(0);
  });

  it("shows the variables to connect with, and copies them", async () => {
    const { page, problems } = await open();
    const { clientId, clientSecret } = sandbox.credentials;
    const lines = [
      `export STOCKLOT_BASE_URL=${server.url}`,
      `export STOCKLOT_CLIENT_ID=${clientId}`,
      `export STOCKLOT_CLIENT_SECRET=${clientSecret}`,
    ];
    expect(await page.locator("#variables").textContent()).toBe(lines.join("\n"));
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Copied.").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(lines.join("\n"));
    expect(problems).toEqual([]);
  });

  it("adds and clears fault rules, and resets the sandbox", async () => {
    const { page, problems } = await open();
    const api = callerOf(sandbox);
    await page.getByRole("combobox").selectOption("503");
    await page.getByLabel("Path").fill("/Item*");
    await page.getByLabel("Times").fill("2");
    await page.getByRole("button", { name: "Add fault rule" }).click();
    await page.getByText("/Item* 503 (2 more)").waitFor();
    expect((await api.get("/Item")).status).toBe(503);
    await page.getByText("/Item* 503 (1 more)").waitFor();
    await page.locator("#requests").getByText("503 (fault rule)").waitFor();
    await page.getByRole("button", { name: "Clear fault rules" }).click();
    await page.getByText("No fault rules.").waitFor();
    expect((await api.get("/Item")).status).toBe(200);
    await page.getByLabel("Path").fill("Item");
    await page.getByRole("button", { name: "Add fault rule" }).click();
    await page.getByText('must begin with "/" or "*"').waitFor();
    await page.getByRole("button", { name: "Reset the sandbox" }).click();
    await page.locator("#requests").getByText("No requests yet.").waitFor();
    expect(sandbox.requests).toHaveLength(0);
    // Chromium reports the refused rule.
    expect(problems.filter((problem) => !problem.includes("400"))).toEqual([]);
  });

  it("shows the body of a request while others arrive", async () => {
    const { page } = await open();
    const api = callerOf(sandbox);
    await api.post("/Inventory/Move", { itemID: "NUT", units: 1, wid: 1, shipToWid: 3 });
    const path = page.getByRole("button", { name: "/Inventory/Move" });
    await path.click();
    expect(await page.locator("#requests pre").textContent()).toContain('"shipToWid": 3');
    await api.get("/Item");
    await page.locator("#requests").getByText("/Item").waitFor();
    expect(await page.locator("#requests pre").count()).toBe(1);
    await path.click();
    expect(await page.locator("#requests pre").count()).toBe(0);
  });

  it.each([
    [1280, "light"],
    [1280, "dark"],
    [390, "light"],
    [390, "dark"],
  ] as const)("fits a window %i pixels wide in %s colours, and is accessible", async (width, colorScheme) => {
    const { page } = await open();
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    const api = callerOf(sandbox);
    const itemID = "A-VERY-LONG-SKU/".repeat(6);
    await api.post("/Item", { shortID: itemID, description: "long", uOM: "EA" });
    await api.post("/Inventory/Receive", { itemID, units: 1_234_567.25, wid: 1, reasonCode: 1 });
    await api.get(`/Item?key=${encodeURIComponent(itemID)}&type=id`);
    await page.locator("#transactions").getByText("receive").waitFor();
    await page.locator("#requests button").first().click();
    const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    expect(overflow).toBe(0);
    const cells = await page.locator("#requests tbody tr").nth(0).locator("td:visible").all();
    for (const cell of cells) {
      const box = await cell.boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
    }
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<{ violations: { id: string; nodes: unknown[] }[] }>("axe.run()");
    expect(violations.map(({ id, nodes }) => `${id}: ${JSON.stringify(nodes).slice(0, 300)}`)).toEqual([]);
  });

  it("does not count as a request, and says when the sandbox has stopped", async () => {
    const { page } = await open();
    expect(sandbox.requests).toHaveLength(0);
    await server.close();
    await page.getByText("not connected").waitFor();
  });
});

describe("the page over HTTP", () => {
  let server: SandboxServer | undefined;
  afterEach(() => server?.close());

  /** Status of a GET with that `Host`. */
  const statusFor = (host: string | undefined, path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = host === undefined ? {} : { host };
      const target = { host: "127.0.0.1", port: server?.port, path, headers, setHost: false };
      get(target, (response) => {
        resolve(response.statusCode);
        response.destroy();
      }).on("error", reject);
    });

  it.each(["/", "/page/events", "/openapi.json"])("%s is served under loopback names alone", async (path) => {
    server = await createSandbox().listen({ page: true });
    for (const host of ["127.0.0.1", "localhost", "LOCALHOST:8080", "app.localhost:1", "[::1]:9", "127.8.9.10:4010"]) {
      expect(await statusFor(host, path), host).toBe(200);
    }
    for (const host of [
      "evil.example",
      "evil.example:4010",
      "127.0.0.1.evil.example",
      "localhost.evil.example",
      "1.2.3.4",
      "",
      "[",
      "a@127.0.0.1",
    ]) {
      expect(await statusFor(host, path), host).toBe(403);
    }
  });

  it("obeys no button that another site presses", async () => {
    const sandbox = createSandbox();
    server = await sandbox.listen({ page: true });
    const url = new URL("/page/add-fault", server.url);
    const body = JSON.stringify({ fault: 503 });
    expect((await fetch(url, { method: "POST", body })).status).toBe(400);
    const headers = { "x-stocklot-page": "1" };
    const preflight = await fetch(url, {
      method: "OPTIONS",
      headers: { "access-control-request-headers": "x-stocklot-page" },
    });
    expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
    expect((await fetch(url, { method: "POST", headers, body: "x".repeat(20_000) })).status).toBe(400);
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(204);
    expect((await sandbox.fetch(`${sandbox.baseUrl}/Item`)).status).toBe(503);
  });

  it("is served under the address that it listens on", async () => {
    server = await createSandbox().listen({ page: true, host: "0.0.0.0" });
    expect(await statusFor("192.168.1.5:4010", "/")).toBe(200);
    expect(await statusFor("[2001:db8::1]:4010", "/")).toBe(200);
    expect(await statusFor("evil.example", "/")).toBe(403);
  });

  it("leaves requests of the service alone: a container is reached by its name", async () => {
    server = await createSandbox().listen({ page: true });
    expect(await statusFor("sandbox:4010", "/api/v1/Item")).toBe(401);
    expect(await statusFor("sandbox:4010", "/favicon.ico")).toBe(403);
  });
});
