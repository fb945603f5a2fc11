import { Command } from "commander";
import type { InventoryClient } from "../../client/index.js";
import { describeGroup } from "../../plan/count/text.js";
import { type PlanReport, type ReportedGroup, type ReportedItem, readPlan } from "../../plan/index.js";
import { messageOf } from "../../shared/unknown.js";
import { type ConnectionFlags, withClient, withConnection } from "../connection.js";
import { outboxStoreOf } from "../database.js";
import { CommandError, EXIT } from "../exit.js";
import { withOutbox } from "../outbox/action.js";
import { plural, print, printable, seconds, withProgress } from "../terminal.js";
import { parseJsonFile } from "./planned.js";

interface ApplyFlags extends ConnectionFlags {
  outbox: string;
  json?: true;
}

export function applyCommand(): Command {
  const command = new Command("apply")
    .description("send the writes of a plan, each exactly once: run it again to continue")
    .argument("<file>", "plan of stocklot plan or stocklot count plan, with --out")
    .requiredOption("--outbox <file>", "SQLite file, or postgres:// address, that keeps track of every write")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      "\nExit code: 0 if everything was applied, 1 if a person has to look at something,\n2 if the plan is refused.",
    )
    .action(apply);
  return withConnection(command);
}

async function apply(path: string, flags: ApplyFlags): Promise<void> {
  const planned = openPlan(path);
  const work = (client: InventoryClient, signal: AbortSignal) =>
    withOutbox({ client, store: outboxStoreOf("--outbox", flags.outbox, "create") }, async (outbox) => {
      const report = await withProgress<PlanReport<ReportedItem | ReportedGroup>>((progress) =>
        planned.apply({
          client,
          outbox,
          signal,
          onProgress: ({ done, total }) => progress.update(`${done} of ${total} changes`),
        }),
      );
      await printReport(report, planned.kind === "items" ? "item" : "group", flags.json);
    });
  await withClient(flags, work, "run it again to continue");
}

function openPlan(path: string): ReturnType<typeof readPlan> {
  try {
    return readPlan(parseJsonFile(path));
  } catch (error) {
    throw error instanceof CommandError ? error : new CommandError(`${path}: ${messageOf(error)}`);
  }
}

async function printReport(
  report: PlanReport<ReportedItem | ReportedGroup>,
  noun: "item" | "group",
  json: true | undefined,
): Promise<void> {
  const { applied, requests, durationMs, storedDifferently } = report;
  const lines = (["stale", "rejected", "unknown"] as const).flatMap((name) =>
    report[name].map((reported) => `${name}: ${printable(nameOf(reported))}: ${printable(reported.reason, 1_000)}`),
  );
  // An item may be stored in another form; a stock that is not what was counted has to be counted again.
  const isStockWrong = noun === "group" && storedDifferently.length > 0;
  if (lines.length > 0 || isStockWrong) process.exitCode = EXIT.failure;
  if (json) return print(JSON.stringify(report, null, 2));
  for (const line of lines) await print(line);
  for (const { shortID: itemID, field, sent, stored, ...group } of storedDifferently) {
    const name = Object.keys(group).length === 0 ? itemID : describeGroup({ itemID, ...group });
    await print(
      printable(`stored differently: ${name}: ${field} ${JSON.stringify(sent)} as ${JSON.stringify(stored)}`),
    );
  }
  await print(`${plural(applied, noun)} applied, ${plural(requests, "request")}, ${seconds(durationMs)}.`);
}

const nameOf = (reported: ReportedItem | ReportedGroup): string =>
  "shortID" in reported ? reported.shortID : describeGroup(reported);
