/**
 * Keeps a copy of the item catalogue in a file: the first run reads everything, later ones only what has changed since.
 *
 *     npx tsx examples/incremental-sync.ts [file]
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { InventoryClient, type Item, parseServiceDate } from "stocklot";
import { connect, outFile } from "./connect.js";

/** How far each run reaches back before the last one: for clocks that differ, and changes that become visible late. */
const OVERLAP_MS = 5 * 60_000;

/** The copy and how far it reaches are one file, so that they always belong together. */
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
  // A sandbox is new each time, so its copy begins anew; and somebody has to change items between two runs.
  if (!given) await rm(file, { force: true });
  await sync();
  const [first, second] = await client.items.list().toArray({ limit: 2 });
  if (!first || !second) throw new Error("the sandbox came without items");
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
      // A discontinued item is a changed one; the plain list would leave it out, and we would keep it for ever.
      includeDiscontinued: true,
      modifiedSince: newest && new Date(newest.getTime() - OVERLAP_MS),
    },
    {
      // Items that change while we read move in the list; none may be missed.
      gapless: true,
      onResponse: ({ headers }) => {
        // The first answer's time: what changes after it is for the next run.
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

  // Without a Date header, the newest change seen is the only time of the service's own clock that we know.
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

/** The mark moves only together with the data: when a run fails half-way, the next one reads the same again. */
async function save(copy: Copy): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.partial`, JSON.stringify(copy), { flush: true });
  await rename(`${file}.partial`, file);
}
