import * as z from "zod";
import { boolean, datetime, decimal, integer, lazy, type SameShape, string } from "../shared/schema.js";

/**
 * A receive record: stock of one item at one warehouse location.
 *
 * Source: service interface, "Lot object". Fields that the service adds later are kept in the value, but are not in the
 * type. IDs and record numbers are integers without a unit.
 */
export interface Lot {
  /** Unique lot record number. */
  recNo: number;
  /** Item part number. */
  partNo: number;
  /** Item SKU. */
  shortID: string;
  /** Item description. */
  description: string;
  /** Customer or owner name; blank means own stock. */
  associate: string;
  /** Warehouse name. */
  warehouse: string;
  /** Warehouse ID. Spelled `wid` in requests. */
  wID: number;
  /** Bin or location within the warehouse. */
  spot: string;
  /** Quantity in the lot, in the item's unit of measure (`uOM`). */
  units: number;
  /** When the lot was received: ISO 8601 UTC. */
  received: string;
  /** When the lot was shipped: ISO 8601; null while still in stock. */
  shipped: string | null;
  /** Serial or lot number. */
  serial: string;
  /** Secondary serial number. */
  serial2: string | null;
  /** RFID tag value. Spelled `rfidTag` in requests. */
  rFIDTag: string | null;
  /** Notes. */
  remark: string;
  /** True when the lot is on hold. */
  hold: boolean;
  /** Job or project ID; 0 when none. */
  jobID: number;
  /** Job or project name. */
  jobName: string | null;
  /** True when the lot is active. */
  active: boolean;
}

/** A lot with less than this quantity counts as empty: a service may compute in floating point. */
export const DUST = 1e-9;

/** Whether a lot is in stock: not shipped, not inactive and not empty. A response may lack fields. */
export const isInStock = ({ active, shipped, units }: Partial<Pick<Lot, "active" | "shipped" | "units">>): boolean =>
  active !== false && (shipped ?? null) === null && Math.abs(units ?? 0) > DUST;

export const lotSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    recNo: integer(),
    partNo: integer(),
    shortID: string(),
    description: string(),
    associate: string(),
    warehouse: string(),
    wID: integer(),
    spot: string(),
    units: decimal(),
    received: datetime(),
    shipped: datetime().nullable(),
    serial: string(),
    serial2: string().nullable(),
    rFIDTag: string().nullable(),
    remark: string(),
    hold: boolean(),
    jobID: integer(),
    jobName: string().nullable(),
    active: boolean(),
  }),
);

true satisfies SameShape<Lot, typeof lotSchema>;
