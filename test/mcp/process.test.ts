import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { serializeMessage } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { fieldOf } from "../../src/shared/unknown.js";
import { COMMAND_FILE, runProcess, serve } from "../command/support/run-command.js";
import { ownFolder } from "../support/own-folder.js";
import { seededRandom } from "../support/random.js";
import { ONLY_IN_TEST_ALL, RUN_ALL, runs } from "../support/runs.js";
import { accepts, assistant, connect, type Person, REVISIONS, type Revision, toolsOf } from "./support/assistant.js";
import { usePlaces } from "./support/places.js";

beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));
const fileNamed = ownFolder();
const { databases, newPlace } = await usePlaces();

const INPUT = { itemID: "BOLT-M8", units: 5, wid: 1, reasonCode: 1, remark: "from the truck" };
const BOOKING = { key: "asn-1", operation: "receive", input: INPUT };
const TIMES = ["--settle", "300ms", "--timeout", "300ms"];

/** Starts the command as a process, and connects a client to it over stdio. */
async function start(args: readonly string[], env: Record<string, string>, person?: Person, revision?: Revision) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [COMMAND_FILE, "mcp", ...args],
    env: { PATH: process.env.PATH ?? "", NODE_NO_WARNINGS: "1", ...env },
    stderr: "pipe",
  });
  let err = "";
  transport.stderr?.on("data", (chunk) => {
    err += chunk;
  });
  const peer = await connect(transport, person, revision);
  onTestFinished(() => peer.close());
  return { peer, tools: toolsOf(peer), pid: transport.pid, stderr: () => err };
}

describe.each(REVISIONS)("the command over stdio, revision %s", (revision) => {
  it("serves tools, books once, and ends with its input", async () => {
    const { env, client } = await serve();
    const outbox = fileNamed(`o-${revision}.db`);
    const args = ["--outbox", outbox, "--operations", "receive", "--plans", fileNamed("plans"), ...TIMES];
    const { peer, tools, stderr } = await start(args, env, accepts, revision);
    const { tools: listed } = await peer.listTools();
    const names = ["get_stock", "get_lots", "find_items", "get_write", "list_writes", "book", "plan_catalog"];
    expect(listed.map(({ name }) => name)).toEqual(names);
    expect((await tools("get_stock", { skus: ["BOLT-M8"] })).value).toMatchObject({ source: "service" });
    expect((await tools("book", BOOKING)).value).toMatchObject({ outcome: "added", entry: { state: "applied" } });
    expect((await tools("book", BOOKING)).value).toMatchObject({ outcome: "known" });
    const { value } = await tools("plan_catalog", { rows: [{ shortID: "BOLT-M8", description: "A bolt" }] });
    expect(value.next).toContain("apply");
    const lots = await client.inventory.getLots("BOLT-M8");
    expect(lots.filter(({ remark }) => remark.includes(INPUT.remark))).toHaveLength(1);
    await peer.close();
    expect(stderr()).toBe("");
  });

  it("without credentials it starts, and the tools say what is missing", async () => {
    const { tools, peer } = await start(
      ["--outbox", fileNamed("none.db"), "--operations", "issue"],
      {},
      accepts,
      revision,
    );
    expect((await peer.listTools()).tools).toHaveLength(6);
    for (const call of [tools("get_stock", { skus: ["A"] }), tools("book", { ...BOOKING, operation: "issue" })]) {
      const { isError, text } = await call;
      expect(isError).toBe(true);
      expect(text).toMatch(/STOCKLOT_BASE_URL[\s\S]*Applied: no\./);
    }
    expect((await tools("list_writes", {})).value).toMatchObject({ entries: [] });
  });
});

it("each configuration of the guide starts a server, which answers as the guide shows", async () => {
  const { env } = await serve();
  const guide = readFileSync(new URL("../../docs/agents.md", import.meta.url), "utf8");
  const [question, answer, ...blocks] = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = ""]): unknown =>
    JSON.parse(json),
  );
  expect(blocks).toHaveLength(2);
  for (const block of blocks) {
    const {
      command,
      args,
      env: given,
    } = Object(fieldOf(fieldOf(block, "mcpServers") ?? fieldOf(block, "servers"), "stocklot"));
    expect([command, args.slice(0, 2)]).toEqual(["npx", ["stocklot", "mcp"]]);
    expect(Object.keys(given).sort()).toEqual(Object.keys(env).sort());
    const local = args.slice(2).map((word: string) => word.replace("/var/lib/", `${fileNamed()}/`));
    const { peer, tools } = await start(local, env, accepts);
    const names = (await peer.listTools()).tools.map(({ name }) => name);
    expect(names).toContain(args.includes("--outbox") ? "book" : "get_changes");
    // There is no copy yet, so the answer comes from the service.
    const { name, arguments: asked } = Object(question);
    expect((await tools(name, asked)).value).toEqual(answer);
  }
});

/** Starts the command as a process to which a test writes lines itself. */
function raw(args: readonly string[], env: Record<string, string>, node: readonly string[] = []) {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [...node, COMMAND_FILE, "mcp", ...args], {
    env: { PATH: process.env.PATH ?? "", NODE_NO_WARNINGS: "1", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    output.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.err += chunk;
  });
  const send = (message: object) => child.stdin.write(serializeMessage({ jsonrpc: "2.0", ...message } as never));
  const capabilities = { elicitation: {} };
  send({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities, clientInfo: { name: "t", version: "1" } },
  });
  send({ method: "notifications/initialized" });
  return { child, output, send };
}

it("standard output has nothing but the protocol, and secrets appear nowhere", async () => {
  const { env } = await serve({ faults: [{ path: "/Inventory/Receive", fault: 401 }] });
  const noise = fileNamed(
    "noise.cjs",
    `setInterval(() => { console.log("noise", process.env.STOCKLOT_CLIENT_ID); process.stdout.write("more noise\\n"); console.error("e"); }, 20).unref();
     console.info = console.log;`,
  );
  const args = ["--outbox", fileNamed("noise.db"), "--operations", "receive", "--confirm", "never", ...TIMES];
  const { child, output, send } = raw(args, env, ["--require", noise]);
  send({ id: 2, method: "tools/call", params: { name: "get_stock", arguments: { skus: ["BOLT-M8"] } } });
  send({ id: 3, method: "tools/call", params: { name: "book", arguments: BOOKING } });
  child.stdin.write("this is no JSON\n");
  await expect.poll(() => output.out, { timeout: 20_000 }).toContain('"id":3');
  await sleep(100);
  child.stdin.end();
  const [code] = await once(child, "close");
  expect(code).toBe(0);
  const messages = output.out
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  for (const message of messages) expect(message).toMatchObject({ jsonrpc: "2.0" });
  expect(output.err).toContain("more noise");
  expect(output.out + output.err).not.toContain(env.STOCKLOT_CLIENT_SECRET);
});

it("hundreds of calls at once are answered, and nothing is printed", async () => {
  const { env } = await serve();
  const outbox = fileNamed("many.db");
  const args = ["--outbox", outbox, "--operations", "receive", "--confirm", "never", ...TIMES];
  const { child, output, send } = raw(args, { ...env, NODE_NO_WARNINGS: "" });
  const input = { ...INPUT, remark: "x".repeat(3_000) };
  send({ id: 2, method: "tools/call", params: { name: "book", arguments: { ...BOOKING, input } } });
  await expect.poll(() => output.out, { timeout: 20_000 }).toContain('"id":2');
  const ids = Array.from({ length: 500 }, (_, index) => 1_000 + index);
  for (const id of ids) send({ id, method: "tools/call", params: { name: "get_write", arguments: { key: "asn-1" } } });
  const answered = () => new Set(output.out.match(/"id":1\d{3}\b/g)).size;
  await expect.poll(answered, { timeout: 60_000 }).toBe(ids.length);
  child.stdin.end();
  const [code] = await once(child, "close");
  expect([code, output.err]).toEqual([0, ""]);
});

it("SIGTERM while a write hangs ends the process, and the next one does not book again", async () => {
  const { client, env } = await serve({
    faults: [{ path: "/Inventory/Receive", times: 1, fault: "hang-after" }],
  });
  const args = [
    "--outbox",
    await newPlace(),
    "--operations",
    "receive",
    "--confirm",
    "never",
    "--settle",
    "2s",
    "--timeout",
    "2s",
  ];
  const { child, send } = raw(args, env);
  send({ id: 2, method: "tools/call", params: { name: "book", arguments: BOOKING } });
  const booked = async () =>
    (await client.inventory.getLots("BOLT-M8")).filter(({ remark }) => remark.includes(INPUT.remark)).length;
  await expect.poll(booked, { timeout: 20_000 }).toBe(1);
  child.kill("SIGTERM");
  await once(child, "close");
  const next = await start(args, env);
  const state = async () => (await next.tools("book", BOOKING)).value.entry?.state;
  await expect.poll(state, { timeout: 60_000 }).toBe("applied");
  expect(await booked()).toBe(1);
}, 120_000);

it.each(databases)("two processes on one outbox and one copy in %s book once, and read alike", async (database) => {
  const { env, client } = await serve();
  const [outbox, copy] = [await newPlace(database), await newPlace(database)];
  const place = database === "SQLite" ? "--sqlite" : "--postgres";
  expect(await runProcess(["mirror", place, copy, "--history", "9"], env)).toMatchObject({ code: 0 });
  const args = ["--copy", copy, "--outbox", outbox, "--operations", "receive", ...TIMES];
  const servers = await Promise.all(REVISIONS.map((revision) => start(args, env, accepts, revision)));
  const both = (name: string, input: Record<string, unknown>) =>
    Promise.all(servers.map(({ tools }) => tools(name, input)));
  const booked = await Promise.all([both("book", BOOKING), both("book", BOOKING)]);
  const outcomes = booked.flat().map(({ value }) => [value.outcome, value.entry?.state].join());
  expect(outcomes.sort()).toEqual(["added,applied", "known,applied", "known,applied", "known,applied"]);
  const lots = await client.inventory.getLots("BOLT-M8");
  expect(lots.filter(({ remark }) => remark.includes(INPUT.remark))).toHaveLength(1);
  for (const { value } of await both("get_stock", { skus: ["BOLT-M8"] }))
    expect(value).toMatchObject({ source: "copy", levels: [{ sku: "BOLT-M8" }] });
  for (const { value } of await both("find_items", { text: "bolt-m8" }))
    expect(value).toMatchObject({ items: [{ shortID: "BOLT-M8" }] });
  expect(await runProcess(["mirror", place, copy, "--history", "9"], env)).toMatchObject({ code: 0 });
  for (const { value } of await both("get_changes", { sku: "BOLT-M8" })) expect(value.changes).not.toEqual([]);
});

it.each(
  databases,
)("killed at any moment, a write is booked at most once, and the next server knows what is known: %s", async (database) => {
  const random = seededRandom(1);
  const { sandbox, client, ...connection } = await serve({ latencyMs: 3 });
  const env = { ...connection.env, STOCKLOT_SERVICE_ID: "kills" };
  const kills: { outbox: string; booking: typeof BOOKING }[] = [];
  for (let kill = 0; kill < runs(20); kill += 1) {
    const input = { ...INPUT, remark: `kill ${kill};` };
    kills.push({ outbox: await newPlace(database), booking: { key: `k${kill}`, operation: "receive", input } });
  }
  for (const { outbox, booking } of kills) {
    const args = ["--outbox", outbox, "--operations", "receive", "--confirm", "never", ...TIMES];
    const { child, output, send } = raw(args, env);
    await expect.poll(() => output.out, { timeout: 20_000, interval: 5 }).toContain('"id":1');
    const before = sandbox.requests.length;
    const steps = random(6);
    send({ id: 2, method: "tools/call", params: { name: "book", arguments: booking } });
    const isDue = () => sandbox.requests.length - before >= steps || output.out.includes('"id":2');
    await expect.poll(isDue, { timeout: 20_000, interval: 1 }).toBe(true);
    await sleep(random(12));
    child.kill("SIGKILL");
    await once(child, "close");
  }
  // The lock of a killed process becomes free when its lease ends.
  const check = async ({ outbox: path, booking }: (typeof kills)[number]) => {
    const next = await assistant({
      sandbox,
      outbox: path,
      serviceId: "kills",
      room: { confirms: false, times: { settleEveryMs: 300 } },
    });
    const state = async () => {
      const { isError, text, value } = await next.tools("book", booking, { timeout: 120_000 });
      expect([isError, text]).toEqual([false, text]);
      return value.entry?.state;
    };
    await expect.poll(state, { timeout: 120_000, interval: 500 }).not.toBe("sending");
    const lots = await client.inventory.getLots("BOLT-M8");
    const booked = lots.filter(({ remark }) => remark.includes(booking.input.remark)).length;
    const found = await state();
    expect([booking.key, found, booked]).toEqual([booking.key, found, found === "applied" ? 1 : 0]);
    return found;
  };
  const states = await Promise.all(kills.map(check));
  expect(states).not.toContain("pending");
}, 300_000);
