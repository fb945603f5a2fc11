import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { type PlanItemsOptions, planItems } from "../plan/index.js";
import { castUnchecked } from "../shared/unknown.js";
import { clientOf, type ServerParts } from "./parts.js";
import { addTool } from "./tool.js";

const MAX_SHOWN = 50;

export function addPlanTool(
  server: McpServer,
  parts: ServerParts,
  savePlan: NonNullable<ServerParts["savePlan"]>,
): void {
  addTool(server, parts, "plan_catalog", {
    description:
      "Compares up to 1000 rows (shortID, and the fields as they should be) with the catalog, and writes a plan. Nothing is changed: a person applies the plan. Items that are not in the rows stay.",
    input: z.strictObject({
      rows: z
        .array(z.looseObject({ shortID: z.string().min(1) }))
        .min(1)
        .max(1_000),
    }),
    output: z.object({
      counts: z.record(z.string(), z.unknown()),
      changes: z.array(z.looseObject({ operation: z.string(), shortID: z.string() })),
      blocked: z.array(z.looseObject({ shortID: z.string(), reason: z.string() })),
      more: z.boolean().describe("whether the plan has more than is shown"),
      file: z.string(),
      next: z.string(),
    }),
    isLong: true,
    async work({ rows }, { signal }) {
      // `planItems` validates the rows.
      const desired = castUnchecked<PlanItemsOptions["desired"]>(rows);
      const plan = await planItems({ client: clientOf(parts), desired, signal });
      const file = await savePlan(`${JSON.stringify(plan, null, 1)}\n`);
      const { counts, changes, blocked } = plan;
      return {
        counts,
        changes: changes.slice(0, MAX_SHOWN),
        blocked: blocked.slice(0, MAX_SHOWN),
        more: Math.max(changes.length, blocked.length) > MAX_SHOWN,
        file,
        next: plan.isEmpty
          ? "nothing: the catalog is as it should be."
          : `a person applies it: ${parts.advice.apply(file)}`,
      };
    },
  });
}
