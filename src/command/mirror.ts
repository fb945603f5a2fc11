import { Command, Option } from "commander";
import { createMirror, type Mirror, type MirrorReport, postgresSink, sqliteSink } from "../mirror/index.js";
import { type ConnectionFlags, openClient, withConnection } from "./connection.js";
import { CommandError, durationOption, EXIT, failureOrInterruption, integersOption, interruptSignal } from "./exit.js";
import { ProgressLine, print, seconds, table, tell } from "./terminal.js";

interface MirrorFlags extends ConnectionFlags {
  sqlite?: string;
  postgres?: string;
  warehouses?: number[];
  watch?: number;
  full?: true;
  allowRemovals?: true;
  status?: true;
  json?: true;
}

export function mirrorCommand(): Command {
  return withConnection(new Command("mirror"))
    .description("copy items, lots and stock levels into a database, and keep the copy up to date")
    .addOption(new Option("--sqlite <file>", "SQLite database").conflicts("postgres"))
    .option("--postgres <url>", "PostgreSQL connection string")
    .option("--warehouses <list>", "also copy the stock levels of these warehouses, for instance 1,3", integersOption)
    .option("--watch <interval>", "run again and again, for instance every 5m", durationOption)
    .option("--full", "read everything, not only changes")
    .option("--allow-removals", "confirm a run that removes a large part of the copy")
    .option("--status", "print the state of the copy, and request nothing")
    .option("--json", "print reports as JSON, one per line")
    .action(mirrorRecords);
}

async function mirrorRecords(flags: MirrorFlags): Promise<void> {
  const signal = interruptSignal();
  const client = await openClient(flags);
  try {
    const mirror = createMirror({ client, sink: sinkOf(flags), warehouses: flags.warehouses });
    if (flags.status) await printStatus(mirror, flags);
    else if (flags.watch === undefined) await runOnce(mirror, flags, signal);
    else await watch(mirror, flags.watch, flags, signal);
  } catch (error) {
    throw failureOrInterruption(error, signal, "the next run continues");
  } finally {
    await client.close();
  }
}

function sinkOf({ sqlite, postgres }: MirrorFlags) {
  if (sqlite !== undefined) return sqliteSink({ path: sqlite });
  if (postgres !== undefined) return postgresSink({ connectionString: postgres });
  throw new CommandError("--sqlite or --postgres is required.", EXIT.usage);
}

async function runOnce(mirror: Mirror, { full, allowRemovals, json }: MirrorFlags, signal: AbortSignal): Promise<void> {
  const progress = new ProgressLine();
  try {
    const report = await mirror.run({
      full,
      allowRemovals,
      signal,
      onProgress: ({ resource, received, totalCount }) => progress.update(`${resource}: ${received} of ${totalCount}`),
    });
    await printReport(report, json);
  } finally {
    progress.clear();
  }
}

async function watch(mirror: Mirror, everyMs: number, { json }: MirrorFlags, signal: AbortSignal): Promise<void> {
  tell(`A run every ${seconds(everyMs)}; Ctrl-C stops.`);
  await mirror.watch({
    everyMs,
    signal,
    onReport: (report) => printReport(report, json),
    onError: (error) => tell(`stocklot: ${error instanceof Error ? error.message : String(error)}`),
  });
  tell("stopped");
}

async function printReport(report: MirrorReport, json: true | undefined): Promise<void> {
  if (json) return print(JSON.stringify(report));
  const rows = Object.entries(report.resources).map(([resource, { added, changed, removed, inCopy }]) => [
    resource,
    added,
    changed,
    removed,
    inCopy,
  ]);
  await print(table(["resource", "added", "changed", "removed", "records"], rows));
  await print(`${report.requests} requests, ${seconds(report.durationMs)}`);
}

async function printStatus(mirror: Mirror, { json }: MirrorFlags): Promise<void> {
  const status = await mirror.status();
  process.exitCode = status.complete ? EXIT.success : EXIT.failure;
  if (json) return print(JSON.stringify(status));
  const rows = Object.entries(status.resources).map(([resource, { records, asOf, lagMs }]) => [
    resource,
    records,
    asOf === null ? "never" : dateTime(asOf),
    lagMs === null ? "" : seconds(lagMs),
  ]);
  await print(table(["resource", "records", "as of", "lag"], rows));
  const { lastRun } = status;
  if (lastRun)
    await print(`last run: ${dateTime(lastRun.endedAt)}${lastRun.error ? `, failed: ${lastRun.error.message}` : ""}`);
  if (!status.complete) await print("The copy is not complete yet.");
}

const dateTime = (ms: number) => new Date(ms).toISOString();
