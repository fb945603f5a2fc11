/**
 * Desired state: the catalog as it should be, and a stock count. A plan is the difference, which can be reviewed and applied.
 *
 * @module stocklot/plan
 */
export type { PlanApplyOptions, PlanApplyProgress, PlanReport } from "./apply/options.js";
export type { CountedRow } from "./count/counted-rows.js";
export type { BlockedGroup, CountChange, CountPlanCounts, ReportedGroup, StoredQuantity } from "./count/document.js";
export type { BookLot, CountGroup } from "./count/group.js";
export { type CountReasonCodes, type PlanCountOptions, planCount } from "./count/plan-count.js";
export { type BookItem, type CountSnapshot, type SnapshotOptions, takeSnapshot } from "./count/snapshot.js";
export type { StoredForm } from "./items/compare.js";
export type { DesiredItem } from "./items/desired-items.js";
export type { FieldChange, ItemChange, ItemPlanCounts, ReportedItem } from "./items/document.js";
export { type PlanItemsOptions, planItems } from "./items/plan-items.js";
export { type Plan, type PlanEstimate, type PlanKind, type PlanParts, readPlan } from "./plan.js";
