import { Command } from "commander";
import type { InventoryClient } from "../../client/index.js";
import { describeGroup } from "../../plan/for-rooms.js";
import type { CountPlanReport, ItemPlanReport, ReportedGroup, ReportedItem } from "../../plan/index.js";
import { type ConnectionFlags, countWrites, withClient, withConnection } from "../connection.js";
import { outboxStoreOf, withOutbox } from "../database.js";
import { CommandError, durationOption, EXIT } from "../exit.js";
import { withHelp } from "../help.js";
import { plural, print, printJson, seconds, withProgress, wrapped } from "../terminal.js";
import { openPlan } from "./planned.js";

interface ApplyFlags extends ConnectionFlags {
  outbox?: string;
  settle?: number;
  json?: true;
}

export function applyCommand(): Command {
  const command = new Command("apply")
    .description("send the writes of a plan: run it again to continue")
    .argument("<file>", "plan of stocklot plan items or stocklot count plan, with --out")
    .option(
      "--outbox <file>",
      "for a stock count: outbox of all writes to the warehouse (SQLite file or postgres:// address)",
    )
    .option("--settle <time>", "for a stock count: as for import (default: 60s)", durationOption)
    .option("--json", "print the report as JSON")
    .action(apply);
  return withHelp(
    withConnection(command),
    { 1: "a change was not applied: a person has to look at it", 2: "the plan is refused; nothing was sent" },
    "stocklot apply plan.json --outbox outbox.db",
  );
}

async function apply(
  path: string,
  { outbox: file = "", settle: settleMs, json, ...connection }: ApplyFlags,
): Promise<void> {
  const planned = openPlan(path);
  if (planned.kind === "count" && file === "")
    throw new CommandError("a stock count needs --outbox: the outbox through which all writes of the warehouse go.");
  const work = async (client: InventoryClient, signal: AbortSignal) => {
    const before = countWrites();
    const report = await withProgress<ItemPlanReport | CountPlanReport>((progress) => {
      const onProgress = ({ done, total }: { done: number; total: number }) => progress(`${done} of ${total} changes`);
      const options = { client, signal, onProgress };
      if (planned.kind === "items") return planned.apply(options);
      const store = outboxStoreOf("--outbox", file, "create");
      return withOutbox({ client, store, settleMs }, (outbox) => planned.apply({ ...options, outbox }));
    });
    await printApplyReport(report, countWrites() - before, json);
  };
  await withClient(connection, work, "run it again to continue");
}

async function printApplyReport(
  report: ItemPlanReport | CountPlanReport,
  written: number,
  json: true | undefined,
): Promise<void> {
  const { applied, stale, rejected, unknown, requests, durationMs } = report;
  const canceled = "canceled" in report ? report.canceled : [];
  const lines = Object.entries({ stale, rejected, unknown, canceled }).flatMap(([name, some]) =>
    some.map((reported) => `${name}: ${groupNameOf(reported)}: ${reported.reason}`),
  );
  if (lines.length > 0) process.exitCode = EXIT.failure;
  if (json) return printJson(report, 2);
  for (const line of lines) await print(wrapped(line, 2));
  for (const { shortID, field, sent, stored } of "storedDifferently" in report ? report.storedDifferently : []) {
    const values = `${JSON.stringify(sent)} as ${JSON.stringify(stored)}`;
    await print(wrapped(`stored differently: ${shortID}: ${field} ${values}`, 2));
  }
  const what = plural(applied, "canceled" in report ? "group" : "item");
  await print(`${what} applied, ${plural(requests, "request")}, ${seconds(durationMs)}.`);
  // A plan may have been applied before, by this command or by somebody else.
  await print(`${applied} as planned, ${written} written now.`);
}

const groupNameOf = (reported: ReportedItem | ReportedGroup): string =>
  "shortID" in reported ? reported.shortID : describeGroup(reported);
