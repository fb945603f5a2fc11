import type { Item } from "../../service/item.js";
import { DAY_MS } from "../../shared/time/clock.js";
import { formatIsoTime } from "../values.js";
import {
  createRandomGenerator,
  deriveSeed,
  type RandomGenerator,
  randomBoolean,
  randomChoice,
  randomInteger,
} from "./random.js";

/** When the generated history begins and ends: fixed, so that a seed generates the same data on any day. */
export const GENERATED_HISTORY_START_MS = Date.UTC(2023, 0, 2, 6);
export const GENERATED_HISTORY_END_MS = Date.UTC(2025, 0, 1);

export const FIRST_PART_NO = 1001;
const ITEM_SEED_SALT = 0x17e5;

const FASTENER = { category: 10, subCategory: 101, uOM: "EA", discontinued: false };

/** The items that README and the guides use: the first generated items, whatever the seed. */
const EXAMPLES: readonly Partial<Item>[] = [
  { shortID: "BOLT-M8", description: "Hex bolt M8x40, zinc plated", discontinued: false },
  { ...FASTENER, shortID: "NUT-M8", description: "Hex nut M8, zinc plated" },
  { ...FASTENER, shortID: "WASHER-M8", description: "Washer M8, zinc plated" },
];

export function generateItems(seed: number, count: number): Item[] {
  return Array.from({ length: count }, (_, index) => ({
    ...generateItem(seed, index),
    ...EXAMPLES[index],
  }));
}

/** One item in ten has an alternate part number, as a supplier prints it on the box. */
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

const SAMPLE_ITEM_FAMILIES = [
  {
    ...({ code: "FAS", category: 10, uOM: "EA", putUp: ["Box", "Carton", "Bag"], packs: [50, 100, 200, 500] } as const),
    names: ["Hex bolt", "Socket screw", "Carriage bolt", "Threaded rod", "Self-tapping screw"],
    grades: ["zinc plated", "stainless A2", "stainless A4", "hot-dip galvanised", "plain"],
    sizes: ["M4x16", "M5x20", "M6x30", "M8x40", "M10x60", "M12x80"],
  },
  {
    ...({ code: "CBL", category: 20, uOM: "M", putUp: ["Drum", "Coil"], packs: [50, 100, 305, 500] } as const),
    names: ["Control cable", "Power cable", "Data cable Cat 6", "Earth wire"],
    grades: ["black", "grey", "halogen-free", "shielded"],
    sizes: ["2x0.75", "3x1.5", "4x2.5", "5x4", "7x1"],
  },
  {
    ...({ code: "CHM", category: 30, uOM: "KG", putUp: ["Drum", "Canister", "Pail"], packs: [1, 5, 25, 200] } as const),
    names: ["Epoxy resin", "Degreaser", "Cutting oil", "Silicone sealant", "Floor cleaner"],
    grades: ["standard", "food grade", "low odour", "fast curing"],
    sizes: ["1 kg", "5 kg", "25 kg", "200 kg"],
  },
  {
    ...({ code: "BRG", category: 40, uOM: "EA", putUp: ["Box", "Tube"], packs: [1, 10, 25] } as const),
    names: ["Deep groove bearing", "Needle bearing", "Pillow block", "Thrust bearing"],
    grades: ["open", "sealed 2RS", "shielded ZZ", "C3 clearance"],
    sizes: ["6001", "6204", "6305", "6308", "6210"],
  },
  {
    ...({ code: "TEX", category: 50, uOM: "PR", putUp: ["Carton", "Polybag"], packs: [1, 12, 60] } as const),
    names: ["Work glove", "Safety vest", "Rain jacket", "Coverall"],
    grades: ["yellow", "orange", "navy", "grey"],
    sizes: ["S", "M", "L", "XL", "XXL"],
  },
  {
    ...({ code: "LIQ", category: 60, uOM: "L", putUp: ["Bottle", "Can", "Drum"], packs: [1, 5, 20, 208] } as const),
    names: ["Hydraulic oil", "Coolant", "Brake fluid", "Adhesive, water based"],
    grades: ["ISO 32", "ISO 46", "concentrate", "premixed"],
    sizes: ["1 l", "5 l", "20 l", "208 l"],
  },
] as const;

/** Customers who own stock in the warehouses, by customer ID. */
export const SAMPLE_OWNERS: readonly { readonly id: number; readonly name: string }[] = [
  { id: 0, name: "" },
  { id: 201, name: "Alder & Finch Ltd" },
  { id: 202, name: "Brightwater Marine" },
  { id: 203, name: "Castellan Tools" },
  { id: 204, name: "Østerby Møbler A/S" },
];

export const SAMPLE_JOBS: readonly { readonly id: number; readonly name: string }[] = [
  { id: 5001, name: "Harbour crane refit" },
  { id: 5002, name: "Line 4 overhaul" },
  { id: 5003, name: "Spring promotion" },
];

export const SAMPLE_REMARKS: readonly [string, ...string[]] = [
  "Outer carton damaged, goods in order",
  "Certificate on file",
  "Count confirmed",
  "Keep dry",
  "Short-dated: use first",
];
