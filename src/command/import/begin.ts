import type { OutboxState } from "../../outbox/index.js";
import type { Outbox } from "../../outbox/outbox.js";
import { CommandError } from "../exit.js";
import { dateTime, plural, tell } from "../terminal.js";
import { type ImportedLine, type ImportSettings, keyPrefixOf, MAX_LISTED } from "./lines.js";

/*
 * What the outbox has with the keys of the lines decides. A line is new, equal, or changed (the same key with another input).
 *
 *   the lines                   without --corrects                    with --corrects
 *   all are new                 all are stored                        refused: there is nothing to correct
 *   all are equal               what is open is sent; nothing to do   the same
 *                               if all are settled
 *   some are new                refused; with --key: they are stored  they are stored
 *   some are changed            refused                               replace rejected entries; refused in any other state
 *   some are missing            not noticed                           refused
 *
 * All of it or nothing is stored, in one transaction.
 */

/** How many lines of a file are in each state. */
export type States = Partial<Record<OutboxState, number>>;

/** What is stored, once the lines are. */
export interface Begun {
  /** Before this import, without what it replaces. */
  earlier: States;
  /** Set if all lines were settled before: when the first of them was stored. Then there is nothing to send. */
  completeSince?: number;
}

/** @throws CommandError if nothing may be stored. */
export async function begin(outbox: Outbox, settings: ImportSettings, lines: readonly ImportedLine[]): Promise<Begun> {
  const { corrects, keyColumn, name } = settings;
  const stored = await outbox.read((store) => store.getMany(lines.map(({ entry }) => entry)));
  const added: ImportedLine[] = [];
  const changed: ImportedLine[] = [];
  const earlier: States = {};
  let begunAt = Infinity;
  for (const imported of lines) {
    const known = stored.get(imported.entry.key);
    if (known) begunAt = Math.min(begunAt, known.addedAt);
    if (!known) added.push(imported);
    else if (known.inputHash !== imported.inputHash) changed.push(imported);
    else earlier[known.state] = (earlier[known.state] ?? 0) + 1;
  }
  const isFirst = added.length === lines.length;
  const mayAdd = isFirst || keyColumn !== undefined || added.length === 0;
  if (corrects && isFirst)
    throw new CommandError(
      `--corrects: nothing of ${name} was imported, so there is nothing to correct. Nothing was stored or sent. ` +
        "If the file has a new name, give that of the first import with --delivery.",
    );
  if (corrects) {
    const problems = changed.flatMap(({ line, entry: { key } }) => {
      const state = stored.get(key)?.state;
      return state === "rejected" ? [] : [`line ${line}: "${key}" was changed, but it is ${state}, not rejected`];
    });
    assertCorrectable([...problems, ...(await missingIn(lines, outbox, settings))]);
  } else if (changed.length > 0 || !mayAdd) {
    const [differing, verb] = changed.length > 0 ? [changed, "differ"] : [added, "are new"];
    const choice =
      keyColumn === undefined
        ? "If it is another delivery, name it with --delivery."
        : "Give changed lines a key of their own.";
    throw new CommandError(
      `${name}: ${plural(differing.length, "line")} ${verb} from an earlier import, of ${lines.length}; the first is line ` +
        `${differing[0]?.line}. Nothing was stored or sent. ${choice} If the file is a corrected version, add --corrects.`,
    );
  }
  const toStore = [...added, ...changed].map(({ entry }) => entry);
  // Also if there is nothing to store: it refuses the outbox of another service.
  await outbox.addMany(toStore, { replaceRejected: corrects });
  if (toStore.length === 0) {
    const { pending = 0, sending = 0, unknown = 0 } = earlier;
    if (pending + sending + unknown === 0) return { earlier, completeSince: begunAt };
    tell(`${name}: continues the import of ${dateTime(begunAt)}.`);
  } else if (corrects) {
    const unchanged = lines.length - toStore.length;
    const counts = `${unchanged} unchanged, ${added.length} added, ${changed.length} replaced`;
    tell(`${name}: corrects the import of ${dateTime(begunAt)}: ${counts}.`);
  }
  return { earlier };
}

/** Entries of the delivery whose lines the file no longer has. */
async function missingIn(lines: readonly ImportedLine[], outbox: Outbox, settings: ImportSettings): Promise<string[]> {
  const prefix = keyPrefixOf(settings);
  const missing: string[] = [];
  if (prefix === undefined) return missing;
  const keys = new Set(lines.map(({ entry }) => entry.key));
  const store = await outbox.read(async (opened) => opened);
  for await (const { key, state } of store.list({ prefix, pruned: true }))
    if (!keys.has(key)) missing.push(`"${key}" is missing in the file; it is ${state}`);
  return missing;
}

function assertCorrectable(problems: readonly string[]): void {
  if (problems.length === 0) return;
  const shown = problems.slice(0, MAX_LISTED);
  if (problems.length > MAX_LISTED) shown.push(`and ${problems.length - MAX_LISTED} more`);
  const advice = "Nothing was stored or sent. What was applied can only be reversed by another write.";
  throw new CommandError(`--corrects: ${[...shown, advice].join("\n")}`);
}
