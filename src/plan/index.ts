/**
 * Desired state: the catalog as it should be. A plan is the difference, which can be reviewed and applied.
 *
 * @module stocklot/plan
 */
export type { PlanApplyOptions, PlanApplyProgress, PlanReport, ReportedItem } from "./apply/options.js";
export type { BlockedItem, FieldChange, ItemChange, PlanCounts } from "./document.js";
export type { StoredForm } from "./items/compare.js";
export type { DesiredItem } from "./items/desired-items.js";
export { type PlanItemsOptions, planItems } from "./items/plan-items.js";
export { type Plan, type PlanEstimate, readPlan } from "./plan.js";
