import { KeysHaveGrown, type Outbox, type SeenKeys } from "../../outbox/for-rooms.js";
import type { OutboxState } from "../../outbox/index.js";
import { areCut, Notations } from "../../plan/for-rooms.js";
import { CommandError } from "../exit.js";
import { MAX_LISTED } from "../read-rows/columns.js";
import { dateTime, plural, printable, tell } from "../terminal.js";
import { deliveryPrefixes, storedNotations, valuePrefix } from "./keys.js";
import type { ImportedLine, ImportSettings } from "./lines.js";

/*
 * Compares the lines of a file with the entries of the outbox that have the same keys. A line is new, equal, or changed
 * (the same key with another input). A delivery has a name. With `--key` and without `--delivery`, the keys count in
 * the whole outbox.
 *
 *   a delivery                  without --corrects                    with --corrects
 *   nothing of it is stored     all lines are stored                  refused: there is nothing to correct
 *   all are equal, and no       what is open is sent; nothing to do   the same
 *   other line is stored        if all are settled
 *   some are new                refused                               they are stored
 *   some are changed            refused                               replace rejected entries; refused in any other state
 *   some are missing            refused                               refused
 *
 *   keys without a delivery     without --corrects                    with --corrects
 *   some are new                they are stored                       refused: changed by a spreadsheet, or of another file
 *   some are changed            refused                               replace rejected entries; refused in any other state
 *
 * A new key that is a stored key in another notation, such as `17` for `0017`, is always refused. Either all lines of
 * the file are stored or none, in one transaction. The transaction fails if another process has stored keys of the same
 * delivery or column since the comparison.
 */

/** How many lines of a file are in each state. */
export type States = Partial<Record<OutboxState, number>>;

/** The state of the outbox after the lines were stored. */
export interface Begun {
  /** The states of the entries before this import, without the entries that it replaces. */
  earlier: States;
  /** When the first line was stored. Set only if all lines were settled before, so that nothing is left to send. */
  completeSince?: number;
}

interface Compared {
  added: ImportedLine[];
  changed: { imported: ImportedLine; state: OutboxState }[];
  /** Entries of the delivery that the file lacks. */
  missing: { key: string; state: OutboxState }[];
  equal: States;
  /** When the first stored line was added. */
  begunAt: number;
  /** Whether nothing is stored: for a delivery, no entry with the name of the delivery. */
  isFirst: boolean;
}

/** How often a file is compared again because another import has stored keys of the same kind meanwhile. */
const MAX_COMPARISONS = 10;

/** @throws CommandError if nothing may be stored. */
export async function begin(outbox: Outbox, settings: ImportSettings, lines: readonly ImportedLine[]): Promise<Begun> {
  const { deliveryName, keyColumn } = settings;
  const prefixes =
    deliveryName === undefined ? [valuePrefix(undefined, keyColumn ?? "")] : deliveryPrefixes(deliveryName);
  for (let comparisons = 1; ; comparisons += 1) {
    const seen = await outbox.read((store) => store.countKeys(prefixes));
    try {
      return await compareAndStore(outbox, settings, lines, seen);
    } catch (error) {
      if (!(error instanceof KeysHaveGrown)) throw error;
      if (comparisons < MAX_COMPARISONS) continue;
      throw new CommandError(
        `${settings.name}: other imports keep storing lines of the same kind. ${NOTHING_WAS_DONE} Run the import again.`,
      );
    }
  }
}

async function compareAndStore(
  outbox: Outbox,
  settings: ImportSettings,
  lines: readonly ImportedLine[],
  seen: SeenKeys,
): Promise<Begun> {
  const { corrects, name } = settings;
  const compared = await compare(outbox, settings, lines);
  const { added, changed, equal: earlier, begunAt } = compared;
  await assertNotRewritten(outbox, settings, lines, added);
  if (corrects) assertCorrects(compared, settings);
  else assertSame(compared, settings, lines.length);
  const toStore = [...added, ...changed.map(({ imported }) => imported)].map(({ entry }) => entry);
  // Called even if there is nothing to store, since it refuses the outbox of another service.
  await outbox.addIfSeen("import", toStore, { replaceRejected: corrects, seen });
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

async function compare(outbox: Outbox, settings: ImportSettings, lines: readonly ImportedLine[]): Promise<Compared> {
  const stored = await outbox.read((store) => store.getMany(lines.map(({ entry }) => entry)));
  const missing = await missingIn(lines, outbox, settings);
  const compared: Compared = { added: [], changed: [], missing, equal: {}, begunAt: Infinity, isFirst: false };
  for (const imported of lines) {
    const known = stored.get(imported.entry.key);
    if (known) compared.begunAt = Math.min(compared.begunAt, known.addedAt);
    if (!known) compared.added.push(imported);
    else if (known.inputHash !== imported.inputHash) compared.changed.push({ imported, state: known.state });
    else compared.equal[known.state] = (compared.equal[known.state] ?? 0) + 1;
  }
  compared.isFirst = compared.added.length === lines.length && missing.length === 0;
  return compared;
}

async function missingIn(lines: readonly ImportedLine[], outbox: Outbox, { deliveryName }: ImportSettings) {
  const missing: Compared["missing"] = [];
  if (deliveryName === undefined) return missing;
  const keys = new Set(lines.map(({ entry }) => entry.key));
  const store = await outbox.read(async (opened) => opened);
  for (const prefix of deliveryPrefixes(deliveryName))
    for await (const entry of store.keys(prefix)) if (!keys.has(entry.key)) missing.push(entry);
  return missing;
}

/** Throws if a new key differs from a stored key, or from the key of another line, only in its notation. */
async function assertNotRewritten(
  outbox: Outbox,
  { keyColumn, deliveryName, name }: ImportSettings,
  lines: readonly ImportedLine[],
  added: readonly ImportedLine[],
): Promise<void> {
  if (keyColumn === undefined) return;
  const keys = new Notations<number>(areCut(lines.map(({ value = "" }) => value)));
  for (const { value, line } of added) if (value !== undefined) keys.add(value, line);
  const problems = new Map<number, string>();
  const describe = (line: number, value: string, other: string, whose: string) =>
    problems.set(line, `line ${line}: the key "${value}" is "${other}" in another notation, ${whose}`);
  for (const { value, line } of keys.isEmpty ? [] : lines)
    for (const other of value === undefined ? [] : keys.alike(value))
      if (!problems.has(other.named) && !problems.has(line))
        describe(other.named, other.text, value ?? "", `the key of line ${line}`);
  const store = await outbox.read(async (opened) => opened);
  for await (const { line, value, stored } of storedNotations(store, valuePrefix(deliveryName, keyColumn), keys))
    describe(line, value, stored, "the key of an earlier import");
  if (problems.size > 0)
    refuseImport(
      `${name}: `,
      [...problems].sort(([one], [other]) => one - other).map(([, text]) => text),
      `${NOTHING_WAS_DONE} Has a spreadsheet changed the keys? Write them as they were. If they are different keys, put letters before the new key, such as "key 17".`,
    );
}

const NOTHING_WAS_DONE = "Nothing was stored or sent.";

/** Checks a file without --corrects: its delivery is new, or equals the stored one. */
function assertSame({ added, changed, missing, isFirst }: Compared, settings: ImportSettings, count: number): void {
  const { name, keyColumn, deliveryName } = settings;
  if (isFirst) return;
  const isDelivery = deliveryName !== undefined;
  const differences = [
    describeLines(
      "differs",
      "differ",
      changed.map(({ imported }) => `line ${imported.line}`),
    ),
    describeLines("is new", "are new", isDelivery ? added.map(({ line }) => `line ${line}`) : []),
    describeLines(
      "of the earlier import is missing",
      "of the earlier import are missing",
      missing.map(({ key }) => `"${printable(key)}"`),
    ),
  ].filter((text) => text !== undefined);
  if (differences.length === 0) return;
  const choice = isDelivery
    ? "If it is another delivery, name it with --delivery."
    : `Give changed lines a key of their own in the column "${keyColumn}".`;
  throw new CommandError(
    `${name} was imported before, and is another file now (${plural(count, "line")}): ${differences.join("; ")}. ${NOTHING_WAS_DONE} ` +
      `${choice} If the file is a corrected version, with all lines of the first one, add --corrects.`,
  );
}

function describeLines(one: string, many: string, lines: readonly string[]): string | undefined {
  const [first] = lines;
  return first && `${plural(lines.length, "line")} ${lines.length === 1 ? one : many}, the first is ${first}`;
}

/** Checks a file with --corrects, which replaces rejected lines. */
function assertCorrects({ added, changed, missing, isFirst }: Compared, settings: ImportSettings): void {
  const { name, deliveryName, keyColumn } = settings;
  if (isFirst)
    throw new CommandError(
      `--corrects: nothing of ${name} was imported, so there is nothing to correct. ${NOTHING_WAS_DONE} ` +
        "If the file has a new name, pass the name of the first import with --delivery.",
    );
  const unknownKeys = deliveryName === undefined ? added : [];
  const problems = [
    ...unknownKeys.map(
      ({ line, value = "" }) =>
        `line ${line}: the key "${printable(value)}" in the column "${keyColumn}" was never imported. Has a spreadsheet changed it? If the line is new, put it into a file of its own`,
    ),
    ...changed.flatMap(({ imported: { line, entry }, state }) =>
      state === "rejected"
        ? []
        : [`line ${line}: "${printable(entry.key)}" was changed, but it is ${state}, not rejected`],
    ),
    ...missing.map(({ key, state }) => `"${printable(key)}" is missing in the file; it is ${state}`),
  ];
  if (problems.length > 0)
    refuseImport(
      "--corrects: ",
      problems,
      `${NOTHING_WAS_DONE} What was applied can only be reversed by another write.`,
    );
}

function refuseImport(start: string, problems: readonly string[], advice: string): never {
  const shown = problems.slice(0, MAX_LISTED);
  if (problems.length > MAX_LISTED) shown.push(`and ${problems.length - MAX_LISTED} more`);
  throw new CommandError(`${start}${[...shown, advice].join("\n")}`);
}
