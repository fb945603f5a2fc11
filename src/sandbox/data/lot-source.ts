import type { Lot } from "../../schemas/lot.js";

/** The few facts about a lot that ordering, filtering and adding up need: cheap to make for a million lots. */
export interface LotSummary {
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
export interface LotGenerator {
  readonly firstRecNo: number;
  readonly count: number;
  summary(recNo: number): LotSummary;
  lot(recNo: number): Lot;
}

/** For when there are no generated lots. */
export const NO_GENERATED_LOTS: LotGenerator = {
  firstRecNo: 100_001,
  count: 0,
  summary: () => {
    throw new RangeError("There are no generated lots.");
  },
  lot: () => {
    throw new RangeError("There are no generated lots.");
  },
};
