/**
 * Keeps a copy of the item catalog in a file: the first run reads everything, later ones only what has changed since.
 *
 *     npx tsx examples/incremental-sync.ts [file]
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { InventoryClient, type Item, parseServiceDate } from "stocklot";
import { connect, outFile } from "./connect.js";

/** Overlap of each run with the last one, for clocks that differ and changes that become visible late. */
const OVERLAP_MS = 5 * 60_000;

/** The copy and its watermark are in one file, so that they always match. */
interface Copy {
  /** Everything that was modified before this moment of the service's clock is in the copy. */
  waterMark: string | null;
  items: Item[];
}

const { service, sandbox } = connect({ items: 300 });
const [given] = process.argv.slice(2);
const file = given ?? outFile("items.json");
const client = new InventoryClient(service);

if (sandbox) {
  // A sandbox is new each time, so its copy is new too. The program itself changes items between the two runs.
  if (!given) await rm(file, { force: true });
  await sync();
  const [first, second] = await client.items.list().toArray({ limit: 2 });
  if (!first || !second) throw new Error("the sandbox has no items");
  await client.items.update(first.shortID, { description: "A better description" });
  await client.items.discontinue(second.shortID);
  await client.items.create({ shortID: "NEW-1", description: "A new item", uOM: "EA" });
  console.log("(changed one item, discontinued one, created one)");
  await sync();
}
await sync();
await client.close();

async function sync(): Promise<void> {
  const copy = await load();
  const items = new Map(copy.items.map((item) => [item.partNo, item]));
  let serviceTime: Date | undefined;
  let newest = copy.waterMark === null ? undefined : new Date(copy.waterMark);

  const changed = client.items.list(
    {
      // A discontinued item is a changed item. The plain list omits it, so the copy would never remove it.
      includeDiscontinued: true,
      modifiedSince: newest && new Date(newest.getTime() - OVERLAP_MS),
    },
    {
      // Items that change during the run move in the list; none may be missed.
      gapless: true,
      onResponse: ({ headers }) => {
        // The time of the first response: the next run reads what changes after it.
        if (headers.date) serviceTime ??= new Date(headers.date);
      },
    },
  );

  let read = 0;
  let news = 0;
  for await (const item of changed) {
    read += 1;
    if (items.get(item.partNo)?.modified !== item.modified) news += 1;
    items.set(item.partNo, item);
    const modified = parseServiceDate(item.modified);
    if (!newest || modified > newest) newest = modified;
  }

  // Without a Date header, the newest change is the only known time of the service's clock.
  const waterMark = (serviceTime ?? newest)?.toISOString() ?? null;
  await save({ waterMark, items: [...items.values()] });
  console.log(
    `${items.size} items in the copy: read ${read}, of which ${news} new or changed. Water mark ${waterMark}`,
  );
}

async function load(): Promise<Copy> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { waterMark: null, items: [] };
    throw error;
  }
}

/** The watermark is saved only with the data: if a run fails half-way, the next one reads the same again. */
async function save(copy: Copy): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.partial`, JSON.stringify(copy), { flush: true });
  await rename(`${file}.partial`, file);
}
