import { emptyResponse, jsonResponse, type SandboxResponse, textResponse } from "../http/response.js";
import { validationError } from "../http/service-error.js";
import type { TransactionForm } from "../options/options.js";
import type { SandboxSettings } from "../options/settings.js";

/** The response to a transaction, in the form of the options: the document does not show one. */
export function transactionResponse(
  status: number,
  form: TransactionForm,
  recNo: number,
  done: string,
): SandboxResponse {
  if (typeof form === "function") return jsonResponse(status, form(recNo));
  switch (form) {
    case "number":
      return jsonResponse(status, recNo);
    case "text":
      return textResponse(status, String(recNo));
    case "nested":
      return jsonResponse(status, { data: { recNo } });
    case "empty":
      return emptyResponse(status);
    case "object":
      return jsonResponse(status, { recNo, status: done });
  }
}

/** Throws the validation error for a reason code that the options do not allow. */
export function assertAllowedReasonCode(code: number, { reasonCodes }: SandboxSettings): void {
  if (reasonCodes && !reasonCodes.includes(code)) {
    throw validationError({ reasonCode: [`The field reasonCode must be one of ${reasonCodes.join(", ")}.`] });
  }
}
