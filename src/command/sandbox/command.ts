import { existsSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import { type MirrorCopy, openCopy, postgresSink, sqliteSink } from "../../mirror/index.js";
import { tableOf } from "../../mirror/tables.js";
import type { LoggedRequest } from "../../sandbox/activity.js";
import type { FaultRule } from "../../sandbox/options/fault-rule.js";
import type { SandboxLot, SandboxOptions } from "../../sandbox/options/options.js";
import { createSandbox, type Sandbox } from "../../sandbox/sandbox.js";
import type { Item } from "../../service/item.js";
import { assertPostgresAddress, isPostgresAddress } from "../database.js";
import { CommandError, EXIT, integerOption } from "../exit.js";
import { currentShell, SHELL_NAMES, SHELLS, type Shell } from "../shell.js";
import { dateTime, painter, plural, print, printable, tell } from "../terminal.js";
import { faultOption } from "./fault-option.js";

interface SandboxFlags {
  port: number;
  host: string;
  from?: string;
  items?: number;
  lots?: number;
  seed?: number;
  latency?: number | [number, number];
  rateLimit?: { requests: number } | false;
  tokenTtl?: number;
  readOnly?: true;
  fault?: FaultRule[];
  shell: Shell;
  json?: true;
}

/** Requests that the command keeps for its page. */
const LOG_SIZE = 1000;

const FAULT_HELP = `
A fault rule is [METHOD] [path] fault [detail=number ...], for example
  --fault "POST /Inventory/Receive drop-after times=1"
  --fault "/Item* 503 probability=0.1"
  --fault "* slow delay=100 chunk=64"
Faults: a status, drop, drop-after, hang, hang-after, slow, truncated,
invalid-json, empty, html, wrong-shape, oversized. Details: times, skip,
probability; for slow delay and chunk; for truncated and oversized bytes.`;

export function sandboxCommand(): Command {
  return new Command("sandbox")
    .description("serve the Inventory and Item Catalog Service from memory, with a web page at /")
    .option("-p, --port <port>", "port; 0 takes a free one", integerOption(0, 65_535), 4010)
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .addOption(
      new Option("--from <copy>", "items and lots of a mirror's SQLite file or postgres:// address").conflicts([
        "items",
        "lots",
        "seed",
      ]),
    )
    .option("--items <count>", "items to generate (default: 250)", integerOption(0))
    .option("--lots <count>", "lots to generate (default: 2000)", integerOption(0))
    .option("--seed <number>", "the same seed generates the same data (default: 1)", integerOption(0))
    .option("--latency <ms>", "latency of each response, or a range such as 20-80 (default: 0)", latencyOption)
    .option("--rate-limit <n>", "requests per minute; off for no limit (default: 100)", rateLimitOption)
    .option("--token-ttl <s>", "lifetime of a token in seconds (default: 3600)", integerOption(1))
    .option("--read-only", "refuse every write")
    .option("--fault <rule>", "faulty responses; may be repeated", faultOption)
    .addOption(
      new Option("--shell <shell>", "syntax of the variables that are printed")
        .choices(SHELL_NAMES)
        .default(currentShell(), "the current shell"),
    )
    .option("--json", "print the connection and each request as JSON, one per line")
    .addHelpText("after", FAULT_HELP)
    .action(serve);
}

async function serve(flags: SandboxFlags): Promise<void> {
  const { port, host, shell, json } = flags;
  const copied = flags.from === undefined ? undefined : await readCopyData(flags.from);
  const sandbox = createSandbox({ ...sandboxOptions(flags), ...copied?.options });
  const server = await sandbox.listen({ port, host, page: true }).catch((error: unknown) => {
    throw listenError(error, port);
  });
  const paint = painter(process.stdout);
  sandbox.onRequest((request) => print(json ? JSON.stringify(request) : requestLine(request, paint)));
  if (copied && json) tell(copied.remark);
  if (copied && !json) await print(`${SHELLS[shell].comment} ${copied.remark}`);
  await print(
    json ? JSON.stringify({ baseUrl: server.url, ...sandbox.credentials }) : greeting(shell, server.url, sandbox),
  );
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  await server.close();
  if (!json) await print(`${SHELLS[shell].comment} stopped`);
}

function sandboxOptions(flags: SandboxFlags): SandboxOptions {
  const { items, lots, seed, rateLimit, readOnly = false } = flags;
  return {
    clients: [{ clientId: "sandbox-client", clientSecret: "sandbox-secret", readOnly }],
    requestLogSize: LOG_SIZE,
    faults: flags.fault,
    items,
    lots,
    seed,
    latencyMs: flags.latency,
    rateLimit,
    tokenTtlSeconds: flags.tokenTtl,
  };
}

function latencyOption(text: string): number | [number, number] {
  const [min = "", max] = text.split("-");
  if (max === undefined) return integerOption(0)(min);
  const range: [number, number] = [integerOption(0)(min), integerOption(0)(max)];
  if (range[0] > range[1]) throw new InvalidArgumentError("The range must not be reversed.");
  return range;
}

function rateLimitOption(text: string): { requests: number } | false {
  return text === "off" || text === "0" ? false : { requests: integerOption(1)(text) };
}

function listenError(error: unknown, port: number): unknown {
  if (!(error instanceof Error && "code" in error)) return error;
  const hint = "Choose another one with --port, or --port 0.";
  if (error.code === "EADDRINUSE") return new CommandError(`Port ${port} is taken. ${hint}`, EXIT.failure);
  if (error.code === "EACCES") return new CommandError(`Port ${port} may not be used. ${hint}`, EXIT.failure);
  return error;
}

/** The first lines: comments and lines that set variables, so that the whole can be pasted into a shell. */
export function greeting(shell: Shell, url: string, { credentials }: Sandbox): string {
  const { comment, set } = SHELLS[shell];
  return [
    `${comment} stocklot sandbox, page at ${new URL("/", url).href} (Ctrl-C stops it)`,
    set("STOCKLOT_BASE_URL", url),
    set("STOCKLOT_CLIENT_ID", credentials.clientId),
    set("STOCKLOT_CLIENT_SECRET", credentials.clientSecret),
  ].join("\n");
}

/** The log line of a request: time, method, status, path, and the requests that the client has left. */
export function requestLine(request: LoggedRequest, paint: ReturnType<typeof painter>): string {
  const query = new URLSearchParams(request.query).toString();
  const parts = [
    paint("dim", new Date(request.at).toISOString().slice(11, 23)),
    request.method.padEnd(6),
    paint(styleOf(request.status), request.status === null ? "---" : String(request.status)),
    request.path + (query && `?${query}`),
    paint("dim", request.remaining === null ? "no limit" : `${request.remaining} left`),
  ];
  if (request.fault) parts.push(paint("magenta", `fault: ${request.fault}`));
  return parts.join("  ");
}

function styleOf(status: number | null): "red" | "yellow" | "green" {
  if (status === null || status >= 500) return "red";
  return status >= 400 ? "yellow" : "green";
}

/** Items and lots of the copy in a file, or at the address of a PostgreSQL database. */
async function readCopyData(from: string) {
  const copy = await openCopyAt(from);
  try {
    return await dataOf(copy);
  } finally {
    await copy.close();
  }
}

/** The records of a copy as options of a sandbox, and what to say about them. */
async function dataOf(copy: MirrorCopy) {
  const items: Item[] = [];
  const lots: SandboxLot[] = [];
  const warehouses = new Map<number, string>();
  let negative = 0;
  for await (const item of copy.items()) items.push(servedFields("items", item));
  for await (const lot of copy.lots()) {
    warehouses.set(lot.wID, lot.warehouse ?? `Warehouse ${lot.wID}`);
    // A warehouse that was renamed may have its old name in some lots.
    if (lot.units >= 0) lots.push({ ...servedFields("lots", lot), warehouse: undefined });
    else negative += 1;
  }
  const read = (await copy.status()).filter(({ list }) => list === "items" || list === "lots");
  const asOf = Math.min(...read.map((status) => status.asOf ?? 0));
  const leftOut = negative === 0 ? "" : ` ${plural(negative, "lot")} with negative units left out.`;
  const remark =
    `${plural(items.length, "item")} and ${plural(lots.length, "lot")} of the copy, as of ${dateTime(asOf)}.${leftOut} ` +
    "onOrder, committed, packed and aSN are 0: lots do not contain them.";
  const named = [...warehouses].map(([wID, name]) => ({ wID, name }));
  return { options: { items, lots, ...(named.length > 0 && { warehouses: named }) }, remark };
}

async function openCopyAt(from: string): Promise<MirrorCopy> {
  if (isPostgresAddress(from)) {
    assertPostgresAddress("--from", from);
    return await openCopy(postgresSink({ connectionString: from }));
  }
  if (existsSync(from)) return await openCopy(sqliteSink({ path: from }));
  throw new CommandError(`--from: ${printable(from)} does not exist. Check the path, or run the mirror.`);
}

/** Without the documented fields that the service left out, which are `null` in a copy: the sandbox adds its defaults. */
function servedFields<T extends object>(resource: "items" | "lots", record: T): T {
  const { columns } = tableOf(resource);
  const isServed = ([name, value]: [string, unknown]) => value != null || !Object.hasOwn(columns, name);
  // Only fields that may be missing were dropped.
  return Object.fromEntries(Object.entries(record).filter(isServed)) as T;
}
