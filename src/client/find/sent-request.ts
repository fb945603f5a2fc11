import * as z from "zod";
import { WRITES } from "../../service/operations.js";
import { checkInput } from "../../shared/check.js";
import { InputValidationError, OutcomeUnknownError, type SentRequest } from "../../shared/errors/index.js";
import { decimal, integer, type LazySchema, lazy, optionalFields, string } from "../../shared/field.js";
import { fieldOf, isObject } from "../../shared/unknown.js";

/** The fields that a receipt shares with its lot. */
const receiptSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    itemID: string(),
    units: decimal(),
    wid: integer(),
    ...optionalFields({
      spot: string(),
      serial: string(),
      serial2: string(),
      rfidTag: string(),
      remark: string(),
      jobid: integer(),
    }),
  }),
);

const creationSchema = /* @__PURE__ */ lazy(() => z.looseObject({ shortID: string() }));

/** A copy of a write as it was sent: later changes to the caller's object have no effect. */
interface Sent<Body> {
  body: Body;
  /** In ms since the epoch, by the clock of this machine. */
  sentAt: number;
  /** If it was recorded: how far the clock of the service was ahead then, at least, in ms; `null` if that was not known. */
  clockAheadMs?: number | null | undefined;
}

export type SentReceipt = Sent<z.infer<ReturnType<typeof receiptSchema>>>;
export type SentCreation = Sent<z.infer<ReturnType<typeof creationSchema>>>;

export const readSentReceipt = (sent: OutcomeUnknownError | SentRequest): SentReceipt =>
  readSent("inventory.findReceipt", sent, { write: "receive", body: receiptSchema });

export const readSentCreation = (sent: OutcomeUnknownError | SentRequest): SentCreation =>
  readSent("items.findCreated", sent, { write: "create", body: creationSchema });

/** Reads the write from the error of a lost response or from its `request`. Throws an `InputValidationError` for anything else. */
function readSent<Body>(
  method: string,
  sent: unknown,
  { write, body }: { write: "receive" | "create"; body: LazySchema<z.ZodType<Body>> },
): Sent<Body> {
  const request: unknown = sent instanceof OutcomeUnknownError ? sent.request : sent;
  if (
    !isObject(request) ||
    fieldOf(request, "path") !== WRITES[write].path ||
    fieldOf(request, "method") !== WRITES[write].method
  ) {
    const message = `must be the OutcomeUnknownError of a ${write}, or its request`;
    throw new InputValidationError(method, [{ path: ["sent"], message }]);
  }
  const schema = () => z.object({ body: body(), sentAt: z.number(), clockAheadMs: z.number().optional() });
  checkInput(method, schema, request, ["sent"]);
  return schema().parse(request);
}
