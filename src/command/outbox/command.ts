import { Command, Option } from "commander";
import type { InventoryClient } from "../../client/index.js";
import { OUTBOX_STATES } from "../../outbox/for-rooms.js";
import { withClient, withConnection } from "../connection.js";
import { type OutboxUse, outboxStoreOf, withOutbox } from "../database.js";
import { durationOption, failureOrInterruption, interruptSignal } from "../exit.js";
import { withHelp } from "../help.js";
import { type Action, cancelEntries, type OutboxFlags, pruneEntries, resolveEntry, runAndReport } from "./change.js";
import { listEntries, showEntry, summarize } from "./read.js";

export function outboxCommand(): Command {
  const command = new Command("outbox").description(
    "look after the writes that an import, a count or a program has stored",
  );
  const json = new Option("--json", "print JSON");
  const state = new Option("--state <name>", "only entries in this state").choices(OUTBOX_STATES);
  const summary = actionCommand("summary", "count the entries by state", "read", summarize)
    .option("--max-age <time>", "fail if an entry waits for longer, for instance 26h", durationOption)
    .addOption(json);
  const list = actionCommand("list", "list entries with their reasons, in the order added", "read", listEntries)
    .addOption(state)
    .option("--item <sku>", "only entries of this item")
    .addOption(json);
  const show = actionCommand("show", "show an entry with what a person has to know", "read", showEntry, "<key>");
  const resolution = "record that an unknown or rejected entry was applied, or not-applied: the next run sends it";
  const resolve = actionCommand("resolve", resolution, "change", resolveEntry, "<key>", "<decision>");
  resolve.option("--force", "record as applied what the service refused");
  const cancel = actionCommand("cancel", "drop entries that were not applied", "change", cancelEntries, "<key...>");
  const prune = actionCommand("prune", "remove the contents of applied and canceled entries", "change", pruneEntries);
  prune.requiredOption(
    "--older-than <time>",
    "entries that were applied or canceled at least this long ago, such as 90d",
    durationOption,
  );
  const run = actionCommand("run", "send what is pending; needs the service", "change", runAndReport)
    .option("--settle <time>", "as for import (default: 60s)", durationOption)
    .addOption(json);
  for (const action of [resolve, cancel, prune]) action.addOption(json);
  const unchanged = { 2: "wrong use; nothing was changed" };
  withHelp(summary, { 1: "an entry is unknown, rejected, or too old" }, "stocklot outbox summary o.db --max-age 26h");
  withHelp(list, {}, "stocklot outbox list outbox.db --state rejected");
  withHelp(show.addOption(json), {}, "stocklot outbox show outbox.db day.csv:7");
  withHelp(resolve, unchanged, "stocklot outbox resolve outbox.db day.csv:7 applied");
  withHelp(cancel, unchanged, "stocklot outbox cancel outbox.db day.csv:7 day.csv:8");
  withHelp(prune, unchanged, "stocklot outbox prune outbox.db --older-than 90d");
  withHelp(withConnection(run), { 1: "an entry is not applied" }, "stocklot outbox run outbox.db");
  for (const action of [summary, list, show, resolve, cancel, prune, run]) command.addCommand(action);
  return command;
}

/** `stocklot outbox NAME FILE …`. Only `run` connects to the service. */
function actionCommand(
  name: string,
  description: string,
  use: Exclude<OutboxUse, "create">,
  act: (action: Action) => Promise<void>,
  ...words: string[]
): Command {
  const command = new Command(name).description(description);
  command.argument("<file>", "SQLite file, or postgres://user@host/db; password in PGPASSWORD");
  for (const word of words) command.argument(word);
  return command.action(async (file: string) => {
    const flags: OutboxFlags = command.opts();
    const store = outboxStoreOf("the outbox", file, use);
    const work = (client: InventoryClient | undefined, signal: AbortSignal) =>
      withOutbox({ client, store, settleMs: flags.settle }, (outbox) =>
        act({ outbox, file, words: command.processedArgs.slice(1).flat().map(String), flags, signal }),
      );
    const advice = "run it again to continue";
    if (name === "run") return withClient(flags, work, advice);
    const signal = interruptSignal();
    await work(undefined, signal).catch((error: unknown) => {
      throw failureOrInterruption(error, signal, advice);
    });
  });
}
