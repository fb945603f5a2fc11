import type { Lot } from "../../src/index.js";
import { type ListOrder, LotWorld, type WorldForm, type WorldLot } from "./lot-world.js";

type Random = () => number;

const COLUMNS = [
  "partNo",
  "recNo",
  "shortID",
  "wID",
  "hold",
  "shipped",
  "associate",
  "active",
  "received",
  "modified",
] as const;

/** SKUs in another order than their part numbers. */
export const RECEIVED_ITEMS = Array.from({ length: 12 }, (_, index) => `SKU-${(index * 7) % 12}`);

/** In an orderly world, others receive only this item: another new lot of the looked-up item would make the outcome ambiguous. */
const NOBODYS = "SKU-OTHER";

const isoDate = (time: number) => new Date(time).toISOString();

const RECENT: ListOrder = {
  columns: [
    ["received", -1],
    ["recNo", -1],
  ],
  isUnstable: false,
};

/** Returns the behaviour of a service that follows the document. */
function orderlyForm(random: Random): WorldForm {
  return {
    own: pick(random, [RECENT, { columns: [["recNo", -1]], isUnstable: false }]),
    before: [],
    sortable: COLUMNS,
    direction: "asked",
    pageSize: pick(random, [20, 40, 250]),
    envelope: () => ({}),
    date: isoDate,
    spell: (sku) => sku,
    scope: [1, 2, 3],
    meanwhile: () => {},
  };
}

/** Returns any behaviour that the document does not exclude, and some that it excludes. */
function anyForm(random: Random): WorldForm {
  const column = (): ListOrder["columns"][number] => [pick(random, COLUMNS), random() < 0.5 ? 1 : -1];
  const first = column();
  const ownColumns = pick(random, [RECENT.columns, [column()], [column(), column()], [first, ...RECENT.columns]]);
  return {
    own: { columns: ownColumns, isUnstable: random() < 0.15 },
    // Often the first column of the order without `sort`.
    before: pick(random, [[], [column()], [first], [first]]),
    sortable: pick(random, [COLUMNS, COLUMNS, COLUMNS, ["recNo"], ["partNo"], ["shortID"], []]),
    direction: pick(random, ["all", "asked", "asked", "asked", "ignored"]),
    pageSize: pick(random, [1, 3, 8, 20, 20, 40, 250]),
    envelope: pick<WorldForm["envelope"]>(random, [
      ...Array.from({ length: 8 }, () => () => ({})),
      () => ({ hasMore: false }),
      () => ({ totalCount: 0 }),
      ({ totalCount }) => ({ totalCount: totalCount + 3 }),
      ({ value, totalCount }) => (random() < 0.3 ? { value: value.slice(1), totalCount: totalCount - 1 } : {}),
      ({ page }) => (page > 1 ? { totalCount: 0 } : {}),
      ({ value }) => (random() < 0.2 ? { value: value.slice(0, value.length / 2), hasMore: false } : {}),
      ({ value, page }) => (page === 2 ? { value: value.slice(0, value.length / 2), hasMore: false } : {}),
    ]),
    date: pick(random, [
      isoDate,
      (time) => isoDate(time).slice(0, 10),
      (time) => isoDate(time).slice(0, 19),
      (time) => isoDate(time - 9 * 3_600_000).slice(0, 19),
      () => "0001-01-01T00:00:00",
      () => "1900-01-01T00:00:00Z",
    ]),
    spell: pick(random, [(sku) => sku, (sku) => sku.toLowerCase(), (sku) => ` ${sku} `]),
    scope: pick(random, [
      [1, 2, 3],
      [1, 2, 3],
      [1, 2],
    ]),
    meanwhile: () => {},
  };
}

export const pick = <T>(random: Random, values: readonly T[]): T => {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new RangeError("nothing to pick from");
  return value;
};

/** Returns the changes that people make in a warehouse. No change makes a lot or its text disappear. */
function changes(world: LotWorld, random: Random, isOrderly: boolean): (() => void)[] {
  const any = () => pick(random, world.lots);
  const remove = (lot: WorldLot) => void world.lots.splice(world.lots.indexOf(lot), 1);
  const isVisible = ({ wID }: Lot) => world.form.scope.includes(wID);
  return [
    () =>
      void world.add({ shortID: isOrderly ? NOBODYS : pick(random, world.items), remark: `other ${world.lastRecNo}` }),
    // A move gives a lot a new number, and keeps its date.
    () => {
      const lot = any();
      if (!isVisible(lot)) return;
      world.add({ ...lot, recNo: world.lastRecNo + 1, spot: "moved" });
      remove(lot);
    },
    () => {
      const lot = any();
      lot.units /= 2;
      world.add({ ...lot, recNo: world.lastRecNo + 1, remark: lot.remark });
    },
    () => Object.assign(any(), { shipped: isoDate(Date.now()), active: false, modified: Date.now() }),
    () => Object.assign(any(), { hold: random() < 0.5, modified: Date.now() }),
    // Two lots of one item are merged into the older lot.
    () => {
      const [one, other] = [any(), any()].sort((first, second) => first.recNo - second.recNo);
      if (!one || !other || one === other || one.partNo !== other.partNo || !isVisible(one)) return;
      one.units += other.units;
      one.remark = random() < 0.5 ? `${one.remark}; ${other.remark}` : `${other.remark}; ${one.remark}`;
      one.modified = Date.now();
      remove(other);
    },
  ];
}

/** Whether the service follows the document and others only receive, and the number of lots at the beginning. */
export interface WorldOptions {
  isOrderly: boolean;
  lots: number;
}

export function randomWorld(random: Random, { isOrderly, lots }: WorldOptions): LotWorld {
  const form = isOrderly ? orderlyForm(random) : anyForm(random);
  const world = new LotWorld(form, [...RECEIVED_ITEMS, NOBODYS], random);
  world.fill(lots);
  const share = pick(random, [0, 0, 0.2, 1]);
  // In an orderly world, others only receive, because a merged or moved lot would make an outcome ambiguous.
  const possible = changes(world, random, isOrderly).slice(0, isOrderly ? 1 : undefined);
  form.meanwhile = () => {
    if (random() < share) pick(random, possible)();
  };
  if (!isOrderly && random() < 0.5) {
    const change = pick(random, possible);
    world.onBooked = () => change();
  }
  return world;
}
