import type { Lot } from "../../schemas/lot.js";

/** The few facts about a lot that ordering, filtering and adding up need: cheap to make for a million lots. */
export interface LotFacts {
  readonly partNo: number;
  readonly wID: number;
  readonly units: number;
  readonly hold: boolean;
  /** In stock: active and not shipped. */
  readonly open: boolean;
  /** Milliseconds since the epoch; never less than that of the lot before. */
  readonly receivedAt: number;
  readonly modifiedAt: number;
}

/** Lots that are made when they are looked at. */
export interface LotSource {
  readonly firstRecNo: number;
  readonly count: number;
  facts(recNo: number): LotFacts;
  lot(recNo: number): Lot;
}

/** For when there are no generated lots. */
export const NO_LOTS: LotSource = {
  firstRecNo: 100_001,
  count: 0,
  facts: () => {
    throw new RangeError("There are no generated lots.");
  },
  lot: () => {
    throw new RangeError("There are no generated lots.");
  },
};
