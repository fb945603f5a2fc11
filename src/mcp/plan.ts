import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { uncheckedAs } from "../client/for-add-ons.js";
import { type PlanItemsOptions, planItems } from "../plan/index.js";
import { clientOf, type Room } from "./room.js";
import { addTool } from "./tool.js";

const MAX_SHOWN = 50;

/** `plan_catalog`: a person applies what it has planned. */
export function addPlan(server: McpServer, room: Room, savePlan: NonNullable<Room["savePlan"]>): void {
  addTool(server, room, "plan_catalog", {
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
      // The plan checks them.
      const desired = uncheckedAs<PlanItemsOptions["desired"]>(rows);
      const plan = await planItems({ client: clientOf(room), desired, signal });
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
          : `a person applies it: ${room.advice.apply(file)}`,
      };
    },
  });
}
