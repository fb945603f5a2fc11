import type { RequestOptions, ResponseInfo } from "../../core/request/options.js";
import { uncheckedAs } from "../../core/response/decode.js";
import { NotImplementedError, OutcomeUnknownError, PermissionError } from "../../errors/index.js";
import { messageOf } from "../../errors/unknown-value.js";
import { wording } from "../../errors/wording.js";
import type { FoundStoredReceipt } from "../../resources/find/find-stored-receipt.js";
import type { SentReceipt } from "../../resources/find/sent-request.js";
import { markIn, markOf } from "../marks.js";
import type { EntryChange, StoredEntry } from "../store.js";
import { BACKGROUND, type RunContext } from "./context.js";
import { otherReceipts } from "./other-receipts.js";
import { errorJson, resultJson } from "./stored-json.js";

/** A second look is at least this much later than the first. */
const BETWEEN_LOOKS_MS = 1_000;

/** What is known about an attempt that may have been applied. */
export interface UncertainAttempt {
  entry: StoredEntry;
  /** How long its request may still be in progress. */
  settlesInMs: number;
  /** Why its outcome is not known. */
  cause: unknown;
  signal: AbortSignal;
}

/** Determines the outcome of an attempt that may have been applied, and returns the change of its entry. */
export function reconcile(run: RunContext, attempt: UncertainAttempt): Promise<EntryChange> | EntryChange {
  switch (attempt.entry.operation) {
    case "receive":
      return findReceipt(run, attempt);
    case "create":
      return findCreation(run, attempt);
    case "move":
    case "issue":
      return unknownOutcome("the service has no list of such transactions, so it cannot be looked up", attempt);
    case "update":
    case "discontinue":
      // A late attempt must not undo what later entries change.
      return {
        state: "pending",
        quietMs: attempt.settlesInMs,
        ...(attempt.cause ? { error: errorJson(attempt.cause) } : {}),
      };
  }
}

async function findReceipt(run: RunContext, attempt: UncertainAttempt): Promise<EntryChange> {
  const { entry, settlesInMs } = attempt;
  const body = uncheckedAs<SentReceipt["body"]>(JSON.parse(entry.body ?? "{}"));
  const { known, withSameSerial } = await otherReceipts(run.store, entry, body);
  const mark = markIn(body, markOf(run.storeId, entry.key));
  const hasSerial = [body.serial, body.rfidTag].some((value) => (value ?? "").trim() !== "");
  return lookUp(attempt, async () => {
    const found = await run.client.inventory.findStoredReceipt({
      sent: { body, sentAt: entry.sentAt ?? entry.addedAt, clockAheadMs: entry.clockAheadMs },
      mark,
      isIdentifiedBySerial: mark === undefined && hasSerial && !withSameSerial,
      knownReceipts: known,
      settlesInMs: Math.max(settlesInMs, Math.min(BETWEEN_LOOKS_MS, run.settleMs)),
      options: lookUpOptions(run, attempt),
    });
    return afterReceiptSearch(found, attempt);
  });
}

function afterReceiptSearch({ outcome, lots }: FoundStoredReceipt, attempt: UncertainAttempt): EntryChange {
  const recNos = lots.map(({ recNo }) => recNo);
  switch (outcome) {
    case "applied":
      return applied({ recNo: recNos[0] });
    case "not-applied":
      return { state: "pending" };
    case "duplicate":
      return unknownOutcome(`a duplicate: lots ${recNos.join(", ")} have the mark of this receipt`, attempt, recNos);
    case "ambiguous": {
      const reason =
        recNos.length > 0
          ? `lots ${recNos.slice(0, 10).join(", ")} were received since then and may be its own`
          : "it cannot be proved that no lot was received since then";
      return unknownOutcome(reason, attempt, recNos);
    }
  }
}

async function findCreation(run: RunContext, attempt: UncertainAttempt): Promise<EntryChange> {
  const { settlesInMs } = attempt;
  return lookUp(attempt, async () => {
    const { outcome, item } = await searchCreation(run, attempt, {
      settlesInMs: Math.max(settlesInMs, Math.min(BETWEEN_LOOKS_MS, run.settleMs)),
    });
    if (outcome === "applied") return applied({ shortID: item?.shortID, status: "created", item });
    if (outcome === "not-applied") return { state: "pending" };
    return unknownOutcome("the item exists, but it is not certain that this write created it", attempt);
  });
}

/** What a duplicate error means for a create: an earlier attempt may have been applied. */
export function afterDuplicateError(run: RunContext, attempt: UncertainAttempt): Promise<EntryChange> {
  return lookUp(attempt, async () => {
    const { outcome, item } = await searchCreation(run, attempt, { settlesInMs: 0 });
    if (outcome === "applied") return applied({ shortID: item?.shortID, status: "created", item });
    if (outcome === "not-applied") return { state: "rejected", settledAt: Date.now(), error: errorJson(attempt.cause) };
    return unknownOutcome("the item exists, but it is not certain that this write created it", attempt);
  });
}

function searchCreation(run: RunContext, attempt: UncertainAttempt, { settlesInMs }: { settlesInMs: number }) {
  const { entry } = attempt;
  const body = uncheckedAs<{ shortID: string }>(JSON.parse(entry.body ?? "{}"));
  return run.client.items.findStoredCreation({
    sent: { body, sentAt: entry.sentAt ?? entry.addedAt, clockAheadMs: entry.clockAheadMs },
    settlesInMs,
    options: lookUpOptions(run, attempt),
  });
}

/** If the client may not read the list, a person must decide. */
async function lookUp(attempt: UncertainAttempt, search: () => Promise<EntryChange>): Promise<EntryChange> {
  try {
    return await search();
  } catch (error) {
    const isForbidden = error instanceof PermissionError && error.reason !== "unknown";
    if (!isForbidden && !(error instanceof NotImplementedError)) throw error;
    return unknownOutcome(`it could not be looked up (${error.message})`, attempt);
  }
}

const lookUpOptions = (run: RunContext, { signal }: UncertainAttempt): RequestOptions => ({
  ...BACKGROUND,
  signal,
  onResponse: ({ attempts }: ResponseInfo) => run.addRequests(attempts),
});

const applied = (result: object): EntryChange => ({
  state: "applied",
  settledAt: Date.now(),
  result: resultJson(result),
  error: null,
});

function unknownOutcome(reason: string, { cause }: UncertainAttempt, lots: number[] = []): EntryChange {
  // The advice of an OutcomeUnknownError was followed already.
  const failure = cause instanceof OutcomeUnknownError ? cause.cause : cause;
  const why = failure === undefined ? "the process ended before the response" : messageOf(failure);
  const message = `The outcome is unknown: ${reason} (${why}). Check whether it was applied, then ${wording().decideOutcome}.`;
  return {
    state: "unknown",
    error: errorJson({ name: "OutcomeUnknownError", message, ...(lots.length > 0 && { lots }) }),
  };
}
