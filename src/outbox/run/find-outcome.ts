import {
  type OtherReceipts,
  type ReceiptSearchResult,
  type SentCreation,
  type SentReceipt,
  uncheckedAs,
} from "../../client/for-add-ons.js";
import type { RequestOptions, ResponseInfo } from "../../client/index.js";
import { NotImplementedError, PermissionError, ResponseValidationError } from "../../shared/errors/index.js";
import { wording } from "../../shared/errors/wording.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { fieldOf } from "../../shared/unknown.js";
import { errorJson, resultJson } from "../entry.js";
import { hasMark, markOf } from "../marks.js";
import { inBatches, isIdempotent, type OutboxStore, type StateChange, type StoredEntry } from "../store.js";
import { BACKGROUND, type RunContext } from "./context.js";

/** A second look is at least this much later than the first. */
const BETWEEN_LOOKS_MS = 1_000;

/** What is known about an attempt that may have been applied. */
export interface UncertainAttempt {
  /** The entry. Its error is why the outcome is not known; `null` if the process ended. */
  entry: StoredEntry;
  /** When its request can no longer take effect, by the monotonic clock. */
  outdatedAtMs: number;
  signal: AbortSignal;
}

/** How long the request of an attempt may still be in progress. */
const inProgressMsOf = ({ outdatedAtMs }: UncertainAttempt) => Math.max(0, outdatedAtMs - monotonicNowMs());

/** Finds the outcome of an attempt that may have been applied, and returns the change of its entry. */
export function findOutcome(run: RunContext, attempt: UncertainAttempt): Promise<StateChange> | StateChange {
  switch (attempt.entry.operation) {
    case "receive":
      return findReceiptOutcome(run, attempt);
    case "create":
      return findCreationOutcome(run, attempt);
    case "move":
    case "issue":
      return unknownOutcome("the service has no list of such transactions, so it cannot be looked up", attempt);
    case "update":
    case "discontinue":
      // Nothing has to be found: a second one changes nothing. But a late attempt must not undo what later entries
      // change.
      return { state: "pending", quietMs: inProgressMsOf(attempt) };
  }
}

async function findReceiptOutcome(run: RunContext, attempt: UncertainAttempt): Promise<StateChange> {
  const { entry } = attempt;
  const body = uncheckedAs<SentReceipt["body"]>(JSON.parse(entry.body ?? "{}"));
  const mark = markOf(run.settings.storeId, entry.key);
  const others = await otherReceipts(run.settings, entry, body);
  return unknownIfUnreadable(attempt, async () => {
    const found = await run.settings.client.inventory.findStoredReceipt({
      method: "outbox.run",
      sent: sentOf(entry, body),
      mark: hasMark(body, mark) ? mark : undefined,
      others,
      accepts: "identity",
      inProgressMs: untilSecondLookMs(run, attempt),
      options: findOptions(run, attempt),
    });
    return afterReceiptSearch(found, attempt);
  });
}

/**
 * For how long the attempt counts as in progress: long enough for a second look, unless `settleMs` is less. Two looks
 * are required even if the request ended long ago, since one list may lack a record for a moment, and a wrong "not
 * applied" would be applied twice.
 */
const untilSecondLookMs = ({ settings }: RunContext, attempt: UncertainAttempt) =>
  Math.max(inProgressMsOf(attempt), Math.min(BETWEEN_LOOKS_MS, settings.settleMs));

const sentOf = <Body>(entry: StoredEntry, body: Body) => ({
  body,
  sentAt: entry.sentAt ?? entry.addedAt,
  clockAheadMs: entry.clockAheadMs,
});

function afterReceiptSearch({ outcome, lots }: ReceiptSearchResult, attempt: UncertainAttempt): StateChange {
  const recNos = lots.map(({ recNo }) => recNo);
  switch (outcome) {
    case "applied":
      return applied({ recNo: recNos[0] });
    case "not-applied":
      return NOT_APPLIED;
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

async function findCreationOutcome(run: RunContext, attempt: UncertainAttempt): Promise<StateChange> {
  return unknownIfUnreadable(attempt, async () => {
    const { outcome, item } = await searchItem(run, attempt, "create", untilSecondLookMs(run, attempt));
    if (outcome === "applied") return applied({ shortID: item?.shortID, status: STATUS.create, item });
    if (outcome === "not-applied") return NOT_APPLIED;
    return unknownOutcome(AMBIGUOUS_ITEM, attempt);
  });
}

/**
 * Finds out why a write was refused that may have been applied by an earlier attempt: because of that, or for a reason
 * of its own.
 */
export async function findReasonOfRefusal(run: RunContext, attempt: UncertainAttempt): Promise<StateChange> {
  const { operation } = attempt.entry;
  if (operation !== "create" && operation !== "update" && operation !== "discontinue")
    throw new TypeError(`${operation}: an attempt that was applied is no reason to refuse a second one`);
  // A SKU that exists cannot be created any more. The earlier attempt of another write may still be in progress.
  const inProgressMs = operation === "create" ? 0 : inProgressMsOf(attempt);
  const change = await unknownIfUnreadable(attempt, async () => {
    const { outcome, item } = await searchItem(run, attempt, operation, inProgressMs);
    if (outcome === "applied") return applied({ shortID: item?.shortID, status: STATUS[operation], item });
    // A duplicate of an item that does not exist is a contradiction.
    const isContradiction =
      operation === "create" && item === undefined && isNamed(errorOf(attempt.entry), "ConflictError");
    if (outcome === "not-applied" && !isContradiction) return { state: "rejected", settledAt: Date.now() };
    return unknownOutcome(AMBIGUOUS_ITEM, attempt);
  });
  run.failures.record(attempt.entry, undefined);
  // Whatever was found: a search may end while the earlier attempt can still take effect, and later entries must wait
  // for that.
  return isIdempotent(operation) ? { ...change, quietMs: inProgressMsOf(attempt) } : change;
}

const STATUS = { create: "created", update: "updated", discontinue: "discontinued" } as const;

const AMBIGUOUS_ITEM = "the item does not show whether this write was applied";

function searchItem(
  run: RunContext,
  attempt: UncertainAttempt,
  operation: "create" | "update" | "discontinue",
  inProgressMs: number,
) {
  const { entry } = attempt;
  return run.settings.client.items.findStoredWrite({
    method: "outbox.run",
    operation,
    sent: sentOf(entry, uncheckedAs<SentCreation["body"]>(JSON.parse(entry.body ?? "{}"))),
    inProgressMs,
    options: findOptions(run, attempt),
  });
}

/** If the client may not read the list, or cannot understand it, a person must decide. */
async function unknownIfUnreadable(
  attempt: UncertainAttempt,
  search: () => Promise<StateChange>,
): Promise<StateChange> {
  try {
    return await search();
  } catch (error) {
    const isForbidden = error instanceof PermissionError && error.reason !== "unknown";
    const isUnreadable = error instanceof NotImplementedError || error instanceof ResponseValidationError;
    if (!isForbidden && !isUnreadable) throw error;
    return unknownOutcome(`it could not be looked up (${error.message})`, attempt);
  }
}

const findOptions = (run: RunContext, { signal }: UncertainAttempt): RequestOptions => ({
  ...BACKGROUND,
  signal,
  onResponse: ({ attempts }: ResponseInfo) => run.addRequests(attempts),
});

const NOT_APPLIED = { state: "pending", error: null } as const;

const applied = (result: object): StateChange => ({
  state: "applied",
  settledAt: Date.now(),
  result: resultJson(result),
  error: null,
});

const errorOf = ({ error }: StoredEntry): unknown => JSON.parse(error ?? "null");

const isNamed = (error: unknown, name: string) => fieldOf(error, "name") === name;

/** A person may decide before the attempt can no longer take effect: nothing is sent until then, the entry included. */
function unknownOutcome(reason: string, attempt: UncertainAttempt, lots: number[] = []): StateChange {
  const { key } = attempt.entry;
  const error = errorOf(attempt.entry);
  // The advice of an OutcomeUnknownError was followed already.
  const failure = isNamed(error, "OutcomeUnknownError") ? fieldOf(error, "cause") : error;
  const failed = String(fieldOf(failure, "message") ?? failure).replace(/\.$/, "");
  const why = error === null ? "the process ended before the response" : failed;
  const quietMs = inProgressMsOf(attempt);
  const wait = quietMs > 0 ? `; it may take effect until ${secondAfter(Date.now() + quietMs)}, so look after that` : "";
  const what = `The outcome is unknown: ${reason}${wait} (${why}).`;
  const message = `${what} Check whether it was applied, then ${wording().decideOutcome(key)}.`;
  return {
    state: "unknown",
    quietMs,
    // Who reads the entry later may decide in another way: the reason is without the advice.
    error: errorJson({ name: "OutcomeUnknownError", message, reason: what, ...(lots.length > 0 && { lots }) }),
  };
}

/** Such as "2026-11-26 18:31:05 UTC". */
const secondAfter = (ms: number) =>
  `${new Date(ms + 999).toISOString().slice(0, "yyyy-mm-ddThh:mm:ss".length).replace("T", " ")} UTC`;

/** Entries before and after this one by which the dates of lots are compared with the times of requests. */
const NEIGHBOURS = 500;

/** What the outbox knows about the other receipts of an entry's item, and about the lots of those added at the same time. */
export async function otherReceipts(
  { store, storeId }: { store: OutboxStore; storeId: string },
  { key, lane, sequence }: StoredEntry,
  { serial, rfidTag }: SentReceipt["body"],
): Promise<OtherReceipts> {
  const recNos = new Map<number, number | undefined>();
  const marks: string[] = [];
  let withSameSerial = false;
  const neighbours = await store.list({
    state: "applied",
    after: Math.max(0, sequence - NEIGHBOURS),
    limit: 2 * NEIGHBOURS,
  });
  for (const other of neighbours) addLot(recNos, other);
  for await (const other of inBatches((page) => store.list({ lane, ...page }))) {
    if (other.operation !== "receive" || other.key === key) continue;
    const mark = markOf(storeId, other.key);
    if (hasMark(Object(JSON.parse(other.body ?? "{}")), mark)) marks.push(mark);
    if (other.state !== "applied") continue;
    if (!addLot(recNos, other)) withSameSerial ||= isSameSerial(other, { serial, rfidTag });
  }
  return { recNos, marks, withSameSerial };
}

/** Returns false if the number of the receipt's lot is not known. */
function addLot(recNos: Map<number, number | undefined>, entry: StoredEntry): boolean {
  const recNo = entry.operation === "receive" ? fieldOf(JSON.parse(entry.result ?? "null"), "recNo") : undefined;
  if (typeof recNo !== "number") return false;
  recNos.set(recNo, sentAtByService(entry));
  return true;
}

const sentAtByService = ({ sentAt, clockAheadMs }: StoredEntry) =>
  sentAt === null || clockAheadMs === null ? undefined : sentAt + clockAheadMs;

function isSameSerial({ input }: StoredEntry, { serial, rfidTag }: Pick<SentReceipt["body"], "serial" | "rfidTag">) {
  const other: unknown = JSON.parse(input ?? "null");
  const isSame = (name: string, value: string | undefined) =>
    value !== undefined && String(fieldOf(other, name) ?? "").trim() === value.trim();
  return isSame("serial", serial) || isSame("rfidTag", rfidTag);
}
