import { once } from "node:events";
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { Command, Option } from "commander";
import { type MirrorCopy, openCopy, postgresSink, sqliteSink } from "../../mirror/index.js";
import { FAULT_NAMES } from "../../sandbox/faults.js";
import {
  createSandbox,
  type FaultRule,
  type LoggedRequest,
  type Sandbox,
  type SandboxItem,
  type SandboxLot,
  type SandboxOptions,
} from "../../sandbox/index.js";
import { fieldOf } from "../../shared/unknown.js";
import { isPostgresAddress, postgresAddress } from "../database.js";
import { CommandError, EXIT, integerOption, interruptSignal } from "../exit.js";
import { withHelp } from "../help.js";
import { currentShell, SHELLS, type Shell } from "../shell.js";
import { painter, plural, print, printable } from "../terminal.js";
import { faultOption } from "./fault-option.js";

interface SandboxFlags {
  port: number;
  host: string;
  rateLimit?: number | false;
  latency?: number;
  items?: number;
  lots?: number;
  from?: string;
  fault?: FaultRule[];
}

const SANDBOX_HELP = `
A fault rule is [METHOD] [path] fault [detail=number ...], for example
  --fault "POST /Inventory/Receive drop-after times=1"
  --fault "/Item* 503 probability=0.1"
  --fault "* slow delay=100 chunk=64"
Faults: a status, ${FAULT_NAMES.join(", ")}.
Details: times, skip, probability; bytes of truncated; delay, chunk of slow.`;

export function sandboxCommand(): Command {
  const command = new Command("sandbox")
    .description("serve the Inventory and Item Catalog Service from memory")
    .option("-p, --port <port>", "port; 0 takes a free one", integerOption(0, 65_535), 4010)
    .option(
      "--host <address>",
      "address to listen on; 0.0.0.0 for other machines, which can then reach it",
      "127.0.0.1",
    )
    .option("--rate-limit <n>", "requests per minute, or off (default: 100)", rateLimitOption)
    .option("--latency <ms>", "latency of every response, in ms (default: 0)", integerOption(0))
    .option("--items <count>", "items to generate (default: 250)", integerOption(0))
    .option("--lots <count>", "lots to generate (default: 2000)", integerOption(0))
    .addOption(
      new Option("--from <copy>", "items and lots of a mirror's SQLite file or postgres:// address").conflicts([
        "items",
        "lots",
      ]),
    )
    .option("--fault <rule>", "faulty responses; may be repeated", faultOption)
    .addHelpText("after", SANDBOX_HELP)
    .action(serveSandbox);
  return withHelp(command, { 1: "the port is taken" }, "stocklot sandbox --items 20000 --lots 100000");
}

const rateLimitOption = (text: string) => (text === "off" ? false : integerOption(1)(text));

async function serveSandbox(flags: SandboxFlags): Promise<void> {
  const { port, host, rateLimit: limit, latency: latencyMs, items, lots, from, fault: faults } = flags;
  const shell = currentShell();
  const { comment } = SHELLS[shell];
  const copied = from === undefined ? undefined : await readCopyData(from);
  const rateLimit = typeof limit === "number" ? { requests: limit } : limit;
  const sandbox = createSandbox({ items, lots, faults, rateLimit, latencyMs, ...copied?.options });
  const server = await sandbox.listen({ port, host }).catch((error: unknown) => {
    throw listenError(error, { port, host });
  });
  sandbox.onRequest((request) => print(requestLine(request, painter(process.stdout))));
  if (copied) await print(`${comment} ${copied.remark}`);
  await print(greeting(shell, server.url, sandbox, isLoopback(host) ? undefined : hostname()));
  await once(interruptSignal(), "abort");
  await server.close();
  await print(`${comment} stopped`);
}

function listenError(error: unknown, { port, host }: { port: number; host: string }): unknown {
  const code = fieldOf(error, "code");
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN")
    return new CommandError(`--host: this machine has no address ${printable(host)}.`, EXIT.failure);
  if (code !== "EADDRINUSE" && code !== "EACCES") return error;
  const problem = code === "EACCES" ? "may not be used" : "is taken";
  return new CommandError(`Port ${port} ${problem}. Choose another one with --port, or --port 0.`, EXIT.failure);
}

const isLoopback = (host: string) => /^(127\.|::1$|localhost$)/.test(host);

/**
 * The first lines: comments and lines that set variables, so that the whole can be pasted into a shell. `openName`: the name of
 * this machine, if others can reach it; they may have another shell.
 */
export function greeting(
  shell: Shell,
  url: string,
  { credentials }: Pick<Sandbox, "credentials">,
  openName?: string,
): string {
  const { comment } = SHELLS[shell];
  const linesOf = ({ set }: (typeof SHELLS)[Shell], address: string) => [
    set("STOCKLOT_BASE_URL", address),
    set("STOCKLOT_CLIENT_ID", credentials.clientId),
    set("STOCKLOT_CLIENT_SECRET", credentials.clientSecret),
  ];
  const lines = [
    `${comment} stocklot sandbox (Ctrl-C stops it). Paste into another terminal:`,
    ...linesOf(SHELLS[shell], url),
  ];
  if (openName === undefined) return lines.join("\n");
  const address = url.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, `//${openName}`);
  lines.push(`${comment} Other machines need --allow-insecure-http, and one of these:`);
  for (const other of [SHELLS.posix, SHELLS.powershell])
    lines.push(...linesOf(other, address).map((line) => `${comment}   ${line}`));
  return lines.join("\n");
}

/** The log line of a request: time, method, status, path, and the requests that the client has left. */
export function requestLine(request: LoggedRequest, paint: ReturnType<typeof painter>): string {
  const query = new URLSearchParams(request.query).toString();
  const { status } = request;
  const style = status === null || status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
  const parts = [
    paint("dim", new Date(request.at).toISOString().slice(11, 23)),
    request.method.padEnd(6),
    paint(style, String(status ?? "---")),
    request.path + (query && `?${query}`),
    paint("dim", `${request.remaining} left`),
  ];
  if (request.fault) parts.push(paint("magenta", `fault: ${request.fault}`));
  return parts.join("  ");
}

/** Items and lots of a copy as options of a sandbox, and what to say about them. */
async function readCopyData(from: string): Promise<{ options: SandboxOptions; remark: string }> {
  const copy = await openCopyAt(from);
  try {
    const items: SandboxItem[] = [];
    const lots: SandboxLot[] = [];
    const warehouses = new Map<number, string>();
    let negative = 0;
    for await (const item of copy.items()) items.push(withoutNull(item));
    for await (const lot of copy.lots()) {
      warehouses.set(lot.wID, lot.warehouse ?? `Warehouse ${lot.wID}`);
      // A warehouse that was renamed may have its old name in some lots.
      if (lot.units >= 0) lots.push({ ...withoutNull(lot), warehouse: undefined });
      else negative += 1;
    }
    const leftOut = negative === 0 ? "" : ` ${plural(negative, "lot")} with negative units left out.`;
    const remark =
      `${plural(items.length, "item")} and ${plural(lots.length, "lot")} of the copy.${leftOut} ` +
      "onOrder, committed, packed and aSN are 0: lots do not contain them.";
    const named = [...warehouses].map(([wID, name]) => ({ wID, name }));
    return { options: { items, lots, ...(named.length > 0 && { warehouses: named }) }, remark };
  } finally {
    await copy.close();
  }
}

function openCopyAt(from: string): Promise<MirrorCopy> {
  if (isPostgresAddress(from)) return openCopy(postgresSink({ connectionString: postgresAddress("--from", from) }));
  if (existsSync(from)) return openCopy(sqliteSink({ path: from }));
  throw new CommandError(`--from: ${printable(from)} does not exist. Check the path, or run the mirror.`);
}

/** Fields that the service left out are `null` in a copy; fields that may be null are null by default. */
function withoutNull<T extends object>(record: T): T {
  // Only fields that may be missing, or are null by default, were dropped.
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)) as T;
}
