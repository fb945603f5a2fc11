import type { Item } from "../../schemas/item.js";
import { formatIsoTime } from "../time.js";
import {
  createRandomGenerator,
  deriveSeed,
  type RandomGenerator,
  randomBoolean,
  randomChoice,
  randomInteger,
} from "./random.js";
import { SAMPLE_ITEM_FAMILIES, SAMPLE_OWNERS } from "./sample-names.js";

/** When the generated history begins and ends: fixed, so that a seed generates the same data on any day. */
export const GENERATED_HISTORY_START_MS = Date.UTC(2023, 0, 2, 6);
export const GENERATED_HISTORY_END_MS = Date.UTC(2025, 0, 1);

export const FIRST_PART_NO = 1001;
const ITEM_SEED_SALT = 0x17e5;
const DAY_MS = 86_400_000;

/** The item that README and the guides use: the first generated item, whatever the seed. */
const DOCS_EXAMPLE_ITEM = { shortID: "BOLT-M8", description: "Hex bolt M8x40, zinc plated", discontinued: false };

/** Items `0` to `count - 1` of a seed. */
export function generateItems(seed: number, count: number): Item[] {
  return Array.from({ length: count }, (_, index) => ({
    ...generateItem(seed, index),
    ...(index === 0 && DOCS_EXAMPLE_ITEM),
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
  const random = createRandomGenerator(deriveSeed(seed ^ ITEM_SEED_SALT, index));
  const family = SAMPLE_ITEM_FAMILIES[index % SAMPLE_ITEM_FAMILIES.length] ?? SAMPLE_ITEM_FAMILIES[0];
  const size = randomChoice(random, family.sizes);
  const created =
    GENERATED_HISTORY_START_MS - randomInteger(random, 30, 2000) * DAY_MS + randomInteger(random, 0, 86_399) * 1000;
  return {
    partNo: FIRST_PART_NO + index,
    shortID: `${family.code}-${String(index + 1).padStart(5, "0")}-${size.replace(/[^A-Z0-9]/gi, "").toUpperCase()}`,
    description: `${randomChoice(random, family.names)} ${size}, ${randomChoice(random, family.grades)}`,
    category: family.category,
    subCategory: family.category * 10 + randomInteger(random, 1, 4),
    uOM: family.uOM,
    putUp: randomChoice(random, family.putUp),
    units: randomChoice(random, family.packs),
    dfltOwner: randomOwnerId(random),
    created: formatIsoTime(created),
    modified: formatIsoTime(created + randomInteger(random, 0, GENERATED_HISTORY_END_MS - created)),
    discontinued: randomBoolean(random, 0.06),
  };
}

function randomOwnerId(random: RandomGenerator): number {
  return randomBoolean(random, 0.8) ? 0 : (SAMPLE_OWNERS[randomInteger(random, 1, SAMPLE_OWNERS.length - 1)]?.id ?? 0);
}
