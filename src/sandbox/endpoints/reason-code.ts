import { validationError } from "../http/refusal.js";
import type { Settings } from "../settings.js";

/** Refuses a reason code that is not among those the options allow; without that option every one is fine. */
export function assertReasonCode(code: number, { reasonCodes }: Settings): void {
  if (reasonCodes && !reasonCodes.includes(code)) {
    throw validationError({ reasonCode: [`The field reasonCode must be one of ${reasonCodes.join(", ")}.`] });
  }
}
