import type { Fault, FaultShorthand } from "./rule.js";

/** Faults that can be named without details, besides a status. */
export const FAULT_NAMES: readonly Exclude<FaultShorthand, number>[] = [
  "drop",
  "drop-after",
  "hang",
  "hang-after",
  "slow",
  "truncated",
  "invalid-json",
  "empty",
  "html",
  "wrong-shape",
  "oversized",
];

/** The fault that a shorthand stands for. What is none comes back as a fault of a type that does not exist. */
export function toFault(fault: Fault | FaultShorthand): Fault;
export function toFault(fault: unknown): unknown;
export function toFault(fault: unknown): unknown {
  if (typeof fault === "object") return fault;
  if (typeof fault === "number") return { type: "status", status: fault };
  if (fault === "drop-after") return { type: "drop", when: "after" };
  if (fault === "hang-after") return { type: "hang", when: "after" };
  return { type: fault };
}
