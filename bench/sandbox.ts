/**
 * Measures how many requests per second the sandbox serves over HTTP on loopback, with 100 000 lots.
 *
 * npx tsx bench/sandbox.ts [lots] [seconds per case]
 *
 * The sandbox runs in a separate process. The load comes from plain sockets, 16 connections that each wait for their
 * response, since any HTTP client would be slower than the sandbox. Pages are requested in a scattered order.
 */
import { fork } from "node:child_process";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { createSandbox } from "../src/sandbox/index.js";

const [lots = 100_000, seconds = 3] = process.argv.slice(2).filter(isNumeric).map(Number);
const CONNECTIONS = 16;

async function serve(): Promise<void> {
  const began = performance.now();
  const sandbox = createSandbox({ lots, items: 2000, rateLimit: false });
  const { port } = await sandbox.listen();
  process.send?.({ port, startMs: performance.now() - began });
  process.once("disconnect", () => process.exit());
}

async function measure(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), [String(lots), "--serve"]);
  const { port, startMs } = await new Promise<{ port: number; startMs: number }>((resolve) => {
    child.once("message", (message) => resolve(message as { port: number; startMs: number }));
  });
  console.log(`${lots} lots, ready after ${startMs.toFixed(0)} ms`);
  const token = await fetchToken(port);
  for (const [name, path, pages, accepted = "identity"] of CASES) {
    const headers = `Authorization: Bearer ${token}\r\nAccept-Encoding: ${accepted}`;
    await load(port, headers, path, pages, 1);
    const { requests, bytes, elapsed } = await load(port, headers, path, pages, seconds);
    const rate = Math.round(requests / elapsed).toLocaleString("en");
    console.log(`${name.padEnd(34)} ${rate.padStart(8)} requests/s  ${(bytes / requests / 1024).toFixed(1)} KiB each`);
  }
  child.disconnect();
}

/** Each case: its name, its path, the number of pages to choose from, and the `accept-encoding` of the client. */
const CASES: readonly (readonly [string, string, number, string?])[] = [
  ["lots, 25 per page", "/Inventory?pageSize=25", lots / 25],
  ["lots of one warehouse, 25 per page", "/Inventory/2?pageSize=25", lots / 200],
  ["stock levels, 25 per page", "/Inventory/StockLevels?pageSize=25", 80],
  ["stock levels of one warehouse", "/Inventory/StockLevels/2?pageSize=25", 80],
  ["items, 25 per page", "/Item?pageSize=25", 70],
  ["lots, 250 per page", "/Inventory?pageSize=250", lots / 250],
  ["lots, 25 per page, gzip", "/Inventory?pageSize=25", lots / 25, "gzip"],
];

async function fetchToken(port: number): Promise<string> {
  const { clientId, clientSecret } = createSandbox({ items: 0, lots: 0 }).credentials;
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/Token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

async function load(port: number, headers: string, path: string, pages: number, duration: number) {
  const began = performance.now();
  const end = began + duration * 1000;
  const total = { requests: 0, bytes: 0 };
  await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, seed) => hammer(port, headers, path, pages, seed, end, total)),
  );
  return { ...total, elapsed: (performance.now() - began) / 1000 };
}

/** One connection: a request, its response, the next request. */
function hammer(
  port: number,
  headers: string,
  path: string,
  pages: number,
  seed: number,
  end: number,
  total: { requests: number; bytes: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let turn = seed;
    let awaited = 0;
    const ask = () => {
      turn += 7919;
      const head = `GET /api/v1${path}&page=${1 + (turn % Math.max(1, Math.floor(pages)))} HTTP/1.1\r\n`;
      socket.write(`${head}Host: 127.0.0.1\r\n${headers}\r\n\r\n`);
    };
    socket.on("connect", ask);
    socket.on("error", reject);
    socket.on("data", (chunk: Buffer) => {
      total.bytes += chunk.length;
      if (awaited === 0) awaited = wholeLength(chunk);
      awaited -= chunk.length;
      if (awaited > 0) return;
      total.requests += 1;
      if (performance.now() < end) return ask();
      socket.destroy();
      resolve();
    });
  });
}

/** Returns the length of head and body of a response. The whole head must be in its first chunk. */
function wholeLength(chunk: Buffer): number {
  const head = chunk.indexOf("\r\n\r\n");
  const text = chunk.toString("latin1", 0, head);
  if (!text.startsWith("HTTP/1.1 200")) throw new Error(`Unexpected response: ${text.slice(0, 60)}`);
  return head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1]);
}

function isNumeric(text: string): boolean {
  return /^\d+$/.test(text);
}

if (process.argv.includes("--serve")) await serve();
else await measure();
