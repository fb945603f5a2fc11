import type { Item } from "../../service/item.js";
import type { ChangeState } from "../apply/plan-application.js";
import { fieldValue, isSameValue } from "./compare.js";
import type { ItemChange } from "./document.js";

/** How an item is now, compared with a change of a plan. */
export function stateOfChange({ operation, fields }: ItemChange, item: Item | undefined): ChangeState {
  const names = Object.keys(fields);
  const differing = (side: "before" | "after") =>
    names.filter((name) => !isSameValue(fields[name]?.[side], item && fieldValue(item, name)));
  if (operation === "create") {
    if (!item) return { kind: "due" };
    const others = differing("after");
    return others.length === 0 && !item.discontinued
      ? { kind: "as-desired" }
      : {
          kind: "stale",
          reason: `it was created meanwhile, with another ${others.join(", ") || "state: discontinued"}`,
        };
  }
  if (!item) return { kind: "stale", reason: "it no longer exists" };
  if (operation === "discontinue" && item.discontinued) return { kind: "as-desired" };
  if (operation === "update" && differing("after").length === 0) return { kind: "as-desired" };
  if (operation === "update" && item.discontinued) return { kind: "stale", reason: "it was discontinued meanwhile" };
  const changed = differing("before");
  return changed.length === 0 ? { kind: "due" } : { kind: "stale", reason: `changed meanwhile: ${changed.join(", ")}` };
}
