import { existsSync } from "node:fs";
import { type MirrorCopy, openCopy, postgresSink, sqliteSink } from "../../mirror/index.js";
import { tableOf } from "../../mirror/tables.js";
import type { SandboxLot, SandboxOptions } from "../../sandbox/options/options.js";
import type { Item } from "../../service/item.js";
import { CommandError } from "../exit.js";
import { assertPostgresAddress, isPostgresAddress } from "../postgres-address.js";
import { dateTime, plural, printable } from "../terminal.js";

/** The records of a copy as options of a sandbox, and what to say about them. */
export interface CopyData {
  options: Pick<SandboxOptions, "items" | "lots" | "warehouses">;
  remark: string;
}

/** Reads the items and lots of the copy in a file, or at the address of a PostgreSQL database. */
export async function readCopyData(from: string): Promise<CopyData> {
  const copy = await openCopyAt(from);
  try {
    return await dataOf(copy);
  } finally {
    await copy.close();
  }
}

async function dataOf(copy: MirrorCopy): Promise<CopyData> {
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
  const { resources } = await copy.status();
  const asOf = Math.min(resources.items?.asOf ?? 0, resources.lots?.asOf ?? 0);
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
