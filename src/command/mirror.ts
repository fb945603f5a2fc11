import { existsSync, statSync } from "node:fs";
import { Command, Option } from "commander";
import type { InventoryClient } from "../client/index.js";
import { listName, mirrorListsOf, RESOURCES, readStatus } from "../mirror/for-rooms.js";
import {
  createMirror,
  type MirrorListStatus,
  type MirrorOptions,
  type MirrorReport,
  type MirrorSink,
  postgresSink,
  sqliteSink,
} from "../mirror/index.js";
import { messageOf } from "../shared/unknown.js";
import { type ConnectionFlags, withClient, withConnection } from "./connection.js";
import { assertNoAddress, postgresAddress } from "./database.js";
import { CommandError, durationOption, EXIT, integerOption } from "./exit.js";
import { withHelp } from "./help.js";
import { dateTime, print, printable, printJson, seconds, table, tell, withProgress, wrapped } from "./terminal.js";

interface MirrorFlags extends ConnectionFlags {
  sqlite?: string;
  postgres?: string;
  warehouses?: number[];
  history?: MirrorOptions["history"];
  watch?: number;
  full?: true;
  allowRemovals?: true;
  status?: true;
  maxLag?: number;
  json?: true;
}

export function mirrorCommand(): Command {
  const command = new Command("mirror")
    .description("copy items, lots and stock levels into a database, and keep the copy up to date")
    .addOption(new Option("--sqlite <file>", "SQLite database; created if it does not exist").conflicts("postgres"))
    .option("--postgres <url>", "PostgreSQL database, as postgres://user@host/database; password in PGPASSWORD")
    .option(
      "--warehouses <list>",
      "also copy the stock levels of these warehouses, for instance 1,3; or none",
      warehousesOption,
    )
    .option("--history <days>", "days to keep changes in the table changes, for instance 90; or off", historyOption)
    .addOption(
      new Option("--watch <interval>", "run again and again at this interval, for instance 30s, 5m or 1h")
        .argParser(durationOption)
        .conflicts(["full", "allowRemovals"]),
    )
    .option("--full", "read everything, not only changes")
    .option("--allow-removals", "confirm a run that removes a large part of the copy")
    .addOption(
      new Option("--status", "print the state of the copy; needs neither the service nor credentials").conflicts([
        "watch",
        "full",
        "allowRemovals",
      ]),
    )
    .option("--max-lag <time>", "with --status: fail if the copy is older than this, for instance 26h", durationOption)
    .option("--json", "print reports as JSON, one per line")
    .action(mirrorRecords);
  return withHelp(
    withConnection(command),
    { 1: "a run failed; with --status: the copy is incomplete or too old, or a list failed" },
    "stocklot mirror --sqlite stock.db",
  );
}

async function mirrorRecords(flags: MirrorFlags): Promise<void> {
  const { history, full, allowRemovals, json, watch: everyMs } = flags;
  const sink = sinkOf(flags);
  if (flags.maxLag !== undefined && !flags.status) throw new CommandError("--max-lag needs --status.");
  if (flags.status) return printStatus(sink, flags);
  const work = async (client: InventoryClient, signal: AbortSignal) => {
    const { warehouses = await savedWarehouses(sink, flags) } = flags;
    const mirror = createMirror({ client, sink, warehouses, history });
    const onReport = (report: MirrorReport) => printMirrorReport(report, json);
    if (everyMs === undefined)
      return onReport(
        await withProgress((progress) =>
          mirror.run({
            full,
            allowRemovals,
            signal,
            onProgress: ({ resource, beganAgain, received, totalCount }) =>
              progress(`${resource}: ${received} of ${totalCount}${beganAgain ? ", from the beginning again" : ""}`),
          }),
        ),
      );
    tell(`A run every ${seconds(everyMs)}; Ctrl-C stops.`);
    const onError = (error: unknown) => tell(`stocklot: ${messageOf(error)}`);
    await mirror.watch({ everyMs, signal, onReport, onError });
    signal.throwIfAborted();
  };
  await withClient(flags, work, "the next run continues");
}

/**
 * Returns the warehouses of the previous run, even if that run was interrupted. Returns `undefined` if there are none:
 * an empty list would remove stock levels that the copy still has. If the path is no file, the run reports it.
 */
async function savedWarehouses(sink: MirrorSink, { sqlite }: MirrorFlags): Promise<number[] | undefined> {
  if (sqlite !== undefined && !statSync(sqlite, { throwIfNoEntry: false })?.isFile()) return undefined;
  const saved = (await statusOf(sink)).flatMap(({ wID }) => wID ?? []);
  return saved.length === 0 ? undefined : saved;
}

/** Returns the status of the copy, with these warehouses. If there is no copy, every list counts as never read. */
async function statusOf(sink: MirrorSink, warehouses: readonly number[] = []): Promise<MirrorListStatus[]> {
  const database = await sink.openReader();
  try {
    const asked = mirrorListsOf(database ? ["warehouseStockLevels"] : RESOURCES, warehouses);
    return await readStatus(database, asked);
  } finally {
    await database?.close();
  }
}

const warehousesOption = (text: string) =>
  text === "none" ? [] : text.split(",").map((part) => integerOption(0)(part.trim()));

const historyOption = (text: string) => (text === "off" ? (false as const) : { days: integerOption(1)(text) });

function sinkOf({ sqlite, postgres }: MirrorFlags): MirrorSink {
  if (sqlite === "") throw new CommandError("--sqlite must be the name of a file.");
  if (sqlite !== undefined) {
    assertNoAddress("--sqlite", sqlite);
    return sqliteSink({ path: sqlite });
  }
  if (postgres !== undefined) return postgresSink({ connectionString: postgresAddress("--postgres", postgres) });
  throw new CommandError("--sqlite or --postgres is required.");
}

async function printMirrorReport(report: MirrorReport, json: true | undefined): Promise<void> {
  if (json) return printJson(report);
  const lists = Object.entries(report.resources);
  const rows = lists.map(([name, list]) => [name, list.added, list.changed, list.removed, list.inCopy]);
  await print(table(["resource", "added", "changed", "removed", "records"], rows));
  await print(`${report.requests} requests, ${seconds(report.durationMs)}`);
}

/** The state is stored with the copy, so that neither the service nor credentials are needed. */
async function printStatus(sink: MirrorSink, flags: MirrorFlags): Promise<void> {
  const { sqlite, json, warehouses, maxLag = Infinity } = flags;
  if (sqlite !== undefined && !existsSync(sqlite))
    throw new CommandError(
      `--sqlite: ${sqlite} does not exist, so there is no copy yet. Check the path, or run the mirror.`,
      EXIT.failure,
    );
  const lists = await statusOf(sink, warehouses);
  const isComplete = lists.length > 0 && lists.every(({ asOf }) => asOf !== null);
  const isTooOld = lists.some(({ lagMs }) => lagMs !== null && lagMs > maxLag);
  const failed = lists.filter(({ error }) => error !== null);
  process.exitCode = isComplete && failed.length === 0 && !isTooOld ? EXIT.success : EXIT.failure;
  if (json) return printJson(lists);
  const nameOf = ({ list: resource, wID }: MirrorListStatus) => listName({ resource, wID });
  const rows = lists.map((list) => {
    const { records, asOf, lagMs } = list;
    return [nameOf(list), records, asOf === null ? "never" : dateTime(asOf), lagMs === null ? "" : seconds(lagMs)];
  });
  await print(table(["list", "records", "as of", "lag"], rows));
  for (const list of failed)
    await print(
      wrapped(`${nameOf(list)}: failed since ${dateTime(list.failedSince ?? 0)}: ${printable(list.error)}`, 2),
    );
  if (!isComplete) await print("The copy is not complete yet.");
  if (isTooOld) await print(`The copy is older than ${seconds(maxLag)}.`);
}
