import type { OutboxState } from "../../outbox/index.js";
import type { Outbox } from "../../outbox/outbox.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { CommandError } from "../exit.js";
import { dateTime, plural, tell } from "../terminal.js";
import { type ImportedLine, type ImportSettings, keyPrefixOf } from "./lines.js";

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

interface StoredLine {
  state: OutboxState;
  inputHash: string;
  addedAt: number;
}

/** @throws CommandError if nothing may be stored. */
export async function begin(outbox: Outbox, settings: ImportSettings, lines: readonly ImportedLine[]): Promise<Begun> {
  const stored = await outbox.read((store) => store.getMany(lines.map(({ entry }) => entry.key)));
  const added = lines.filter(({ entry }) => !stored.has(entry.key));
  const changed = lines.filter(({ entry, inputHash }) => {
    const known = stored.get(entry.key);
    return known !== undefined && known.inputHash !== inputHash;
  });
  const { corrects, keyColumn } = settings;
  if (corrects && stored.size === 0)
    throw new CommandError(
      `--corrects: nothing of ${settings.name} was imported, so there is nothing to correct. Nothing was stored or sent. ` +
        "If the file has a new name, give that of the first import with --delivery.",
    );
  if (corrects) await assertCorrectable(outbox, settings, { lines, changed, stored });
  else if (changed.length > 0 || (keyColumn === undefined && added.length > 0 && stored.size > 0))
    throw otherFile(settings, { changed, added, lines });
  const toStore = [...added, ...changed].map(({ entry }) => entry);
  if (toStore.length > 0)
    await outbox.addMany(toStore, { replaceRejected: corrects }).catch((error: unknown) => {
      if (!(error instanceof InputValidationError)) throw error;
      throw new CommandError(`${error.issues.map(({ message }) => message).join(" ")} Run it again.`);
    });
  const kept = [...stored.values()].filter(({ key }) => !changed.some(({ entry }) => entry.key === key));
  const earlier: States = {};
  for (const { state } of kept) earlier[state] = (earlier[state] ?? 0) + 1;
  if (stored.size === 0) return { earlier };
  const begunAt = Math.min(...[...stored.values()].map(({ addedAt }) => addedAt));
  if (corrects && toStore.length > 0) {
    const counts = `${kept.length} unchanged, ${added.length} added, ${changed.length} replaced`;
    tell(`${settings.name}: corrects the import of ${dateTime(begunAt)}: ${counts}.`);
  } else if (toStore.length === 0) {
    const { pending = 0, sending = 0, unknown = 0 } = earlier;
    if (pending + sending + unknown === 0) return { earlier, completeSince: begunAt };
    tell(`${settings.name}: continues the import of ${dateTime(begunAt)}.`);
  }
  return { earlier };
}

interface Comparison {
  lines: readonly ImportedLine[];
  changed: readonly ImportedLine[];
  stored: ReadonlyMap<string, StoredLine>;
}

async function assertCorrectable(
  outbox: Outbox,
  settings: ImportSettings,
  { lines, changed, stored }: Comparison,
): Promise<void> {
  const problems = changed.flatMap(({ line, entry }) => {
    const state = stored.get(entry.key)?.state;
    return state === "rejected" ? [] : [`line ${line}: "${entry.key}" was changed, but it is ${state}, not rejected`];
  });
  const prefix = keyPrefixOf(settings);
  const keys = new Set(lines.map(({ entry }) => entry.key));
  if (prefix !== undefined) {
    const missing = await outbox.read(async (store) => {
      const found: string[] = [];
      for await (const { key, state } of store.list({ prefix, pruned: true }))
        if (!keys.has(key)) found.push(`"${key}" is missing in the file; it is ${state}`);
      return found;
    });
    problems.push(...missing);
  }
  if (problems.length === 0) return;
  const shown = problems.slice(0, MAX_LISTED);
  const more = problems.length > MAX_LISTED ? [`and ${problems.length - MAX_LISTED} more`] : [];
  const advice = "Nothing was stored or sent. What was applied can only be reversed by another write.";
  throw new CommandError(`--corrects: ${[...shown, ...more, advice].join("\n")}`);
}

const MAX_LISTED = 50;

function otherFile(
  { name, keyColumn }: ImportSettings,
  { changed, added, lines }: Record<"changed" | "added" | "lines", readonly ImportedLine[]>,
): CommandError {
  const [first] = changed.length > 0 ? changed : added;
  const differing =
    changed.length > 0 ? `${plural(changed.length, "line")} differ` : `${plural(added.length, "line")} are new`;
  const choice =
    keyColumn === undefined
      ? "If it is another delivery, name it with --delivery."
      : "Give changed lines a key of their own.";
  return new CommandError(
    `${name}: ${differing} from an earlier import, of ${lines.length}; the first is line ${first?.line}. ` +
      `Nothing was stored or sent. ${choice} If the file is a corrected version, add --corrects.`,
  );
}
