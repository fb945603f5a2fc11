import { basename } from "node:path";
import type { NewDelivery, Outbox, StoredDelivery } from "../../outbox/index.js";
import { isComplete } from "../../outbox/store.js";
import { CommandError, EXIT } from "../exit.js";
import { dateTime, tell } from "../terminal.js";
import type { ImportSettings } from "./entries.js";

/** The delivery that a file is; `undefined` if its lines are identified by a column of keys alone. */
export function deliveryOf(settings: ImportSettings, digest: string, lines: number): NewDelivery | undefined {
  const { path, delivery } = settings;
  return delivery === undefined
    ? undefined
    : { name: delivery, file: basename(path), digest, lines, begunAt: Date.now() };
}

/**
 * Records a delivery, or continues one.
 *
 * @returns the delivery if it was complete before: then there is nothing to do.
 * @throws CommandError if its name belongs to another one, or if another one has to be finished first.
 */
export async function beginDelivery(
  outbox: Outbox,
  delivery: NewDelivery,
  firstKey: string,
): Promise<StoredDelivery | undefined> {
  const others = await outbox.beginDelivery(delivery);
  const same = others.find(({ name }) => name === delivery.name);
  const [unfinished] = others;
  if (same) {
    if (same.digest !== delivery.digest) throw otherContents(same, delivery);
    if (isComplete(same)) return same;
    const isBegun = Object.keys(same.entries).length > 0;
    if (isBegun && !(await outbox.get(firstKey))) throw otherKeys(same);
    tell(`${same.name}: continues the import of ${dateTime(same.begunAt)}.`);
  } else if (unfinished) throw mustBeFinishedFirst(unfinished, delivery);
  return undefined;
}

/** A corrected file looks like the next one: a person has to decide. */
function otherContents({ name, begunAt, lines }: StoredDelivery, delivery: NewDelivery): CommandError {
  return new CommandError(
    `"${name}" was imported ${dateTime(begunAt)} with other contents (${lines} lines then, ${delivery.lines} now). ` +
      "Nothing was stored or sent. If this is another delivery, give it a name of its own with --delivery. " +
      "If it is the same one, restore the file.",
    EXIT.usage,
  );
}

/** With other keys, every line would be new. */
const otherKeys = ({ name, begunAt }: StoredDelivery) =>
  new CommandError(
    `the import of "${name}", begun ${dateTime(begunAt)}, has other keys. Nothing was stored or sent. ` +
      "Continue it with the same --key, or without one as then.",
    EXIT.usage,
  );

function mustBeFinishedFirst(
  { name, file, begunAt, lines, entries }: StoredDelivery,
  delivery: NewDelivery,
): CommandError {
  const { applied = 0, rejected = 0, canceled = 0 } = entries;
  const same = file === delivery.file ? `of the same file name, "${file}"` : "with the same contents";
  const open = lines - applied - rejected - canceled;
  return new CommandError(
    `the delivery "${name}" ${same}, begun ${dateTime(begunAt)}, is not complete: ${open} of ${lines} lines are open. ` +
      `Nothing was stored or sent. Finish it first: import its file again with --delivery "${name}".`,
    EXIT.usage,
  );
}
