/**
 * Brings the service to a desired state: a catalog, or the result of a stock count. A plan is the difference. A person
 * reviews the plan, then it is applied.
 *
 * @module stocklot/plan
 */
export type { ServiceAccount } from "../storage/service.js";
export type { CountPlanReport } from "./count/apply.js";
export type { CountPlan, CountPlanApplyOptions } from "./count/count-plan.js";
export type { CountedRow } from "./count/counted.js";
export type { BlockedGroup, CountChange, CountPlanCounts, ReportedGroup } from "./count/document.js";
export type { BookLot, CountGroup } from "./count/group.js";
export { type PlanCountOptions, planCount } from "./count/plan-count.js";
export { type CountSnapshot, type SnapshotOptions, takeSnapshot } from "./count/snapshot.js";
export type { ItemPlanReport } from "./items/apply.js";
export type { StoredForm } from "./items/compare.js";
export type { DesiredItem } from "./items/desired.js";
export type { ItemChange, ItemPlanCounts, ReportedItem } from "./items/document.js";
export type { ItemPlan } from "./items/item-plan.js";
export { type PlanItemsOptions, planItems } from "./items/plan-items.js";
export type { Plan } from "./plan.js";
export { readPlan } from "./read-plan.js";
export type { ReadProgress } from "./reader.js";
export type { PlanApplyOptions, PlanEstimate } from "./report.js";
