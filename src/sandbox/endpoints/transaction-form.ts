import { json, nothing, type Reply, text } from "../http/reply.js";
import type { TransactionForm } from "../options.js";

/** The answer to a transaction, in whichever form was chosen: the document does not show one. */
export function transactionReply(status: number, form: TransactionForm, recNo: number, done: string): Reply {
  if (typeof form === "function") return json(status, form(recNo));
  switch (form) {
    case "number":
      return json(status, recNo);
    case "text":
      return text(status, String(recNo));
    case "nested":
      return json(status, { data: { recNo } });
    case "empty":
      return nothing(status);
    case "object":
      return json(status, { recNo, status: done });
  }
}
