import type { Item } from "../../schemas/item.js";
import { isoTime } from "../time.js";
import { chance, createRandom, deriveSeed, integerBetween, pickOne, type Random } from "./random.js";
import { FAMILIES, OWNERS } from "./sample-names.js";

/** When the generated history begins and ends: fixed, so that a seed generates the same data on any day. */
export const HISTORY_START_MS = Date.UTC(2023, 0, 2, 6);
export const HISTORY_END_MS = Date.UTC(2025, 0, 1);

export const FIRST_PART_NO = 1001;
const ITEM_STREAM = 0x17e5;
const DAY_MS = 86_400_000;

/** The item that README and the guides use: the first generated item, whatever the seed. */
const GUIDE_ITEM = { shortID: "BOLT-M8", description: "Hex bolt M8x40, zinc plated", discontinued: false };

/** Items `0` to `count - 1` of a seed. */
export function generateItems(seed: number, count: number): Item[] {
  return Array.from({ length: count }, (_, index) => ({
    ...generateItem(seed, index),
    ...(index === 0 && GUIDE_ITEM),
  }));
}

/** One in ten has an alternate part number, as a supplier would print it on the box. */
export function generateAliases(items: readonly Item[]): Map<string, string> {
  const aliases = new Map<string, string>();
  for (const item of items) {
    if (item.partNo % 10 === 3) aliases.set(`VND ${item.partNo}/${item.uOM}`, item.shortID);
  }
  return aliases;
}

function generateItem(seed: number, index: number): Item {
  const random = createRandom(deriveSeed(seed ^ ITEM_STREAM, index));
  const family = FAMILIES[index % FAMILIES.length] ?? FAMILIES[0];
  const size = pickOne(random, family.sizes);
  const created =
    HISTORY_START_MS - integerBetween(random, 30, 2000) * DAY_MS + integerBetween(random, 0, 86_399) * 1000;
  return {
    partNo: FIRST_PART_NO + index,
    shortID: `${family.code}-${String(index + 1).padStart(5, "0")}-${size.replace(/[^A-Z0-9]/gi, "").toUpperCase()}`,
    description: `${pickOne(random, family.names)} ${size}, ${pickOne(random, family.grades)}`,
    category: family.category,
    subCategory: family.category * 10 + integerBetween(random, 1, 4),
    uOM: family.uOM,
    putUp: pickOne(random, family.putUp),
    units: pickOne(random, family.packs),
    dfltOwner: randomOwner(random),
    created: isoTime(created),
    modified: isoTime(created + integerBetween(random, 0, HISTORY_END_MS - created)),
    discontinued: chance(random, 0.06),
  };
}

function randomOwner(random: Random): number {
  return chance(random, 0.8) ? 0 : (OWNERS[integerBetween(random, 1, OWNERS.length - 1)]?.id ?? 0);
}
