import { ConfigurationError } from "../client/index.js";
import { CountPlan } from "./count/count-plan.js";
import type { CountPlanContent } from "./count/document.js";
import { PLAN_FORMAT, parseDocument } from "./document.js";
import type { ItemPlanContent } from "./items/document.js";
import { ItemPlan } from "./items/item-plan.js";

/**
 * Restores a plan from its JSON, as a string or parsed.
 *
 * @throws ConfigurationError if the JSON is not a plan, or was changed. Spaces and line breaks do not matter.
 */
export function readPlan(json: unknown): ItemPlan | CountPlan {
  const name = { method: "readPlan", noun: "plan" };
  const content = parseDocument<ItemPlanContent | CountPlanContent>(name, PLAN_FORMAT, json);
  if (content.kind === "items") return new ItemPlan(content);
  if (content.kind === "count") return new CountPlan(content);
  throw new ConfigurationError("readPlan: this version of stocklot does not know this kind of plan. Make a new plan.");
}
