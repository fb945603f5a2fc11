import { emptyResponse, jsonResponse, type SandboxResponse, textResponse } from "../http/reply.js";
import type { TransactionForm } from "../options.js";

/** The answer to a transaction, in whichever form was chosen: the document does not show one. */
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
