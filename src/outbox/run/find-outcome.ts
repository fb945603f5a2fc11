import { isSameSku, isSameValue, judgeLots } from "../../client/for-add-ons.js";
import type { Item, RequestOptions, ResponseInfo } from "../../client/index.js";
import {
  NotFoundError,
  NotImplementedError,
  PermissionError,
  ResponseValidationError,
} from "../../shared/errors/index.js";
import { wording } from "../../shared/errors/wording.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { sleep } from "../../shared/time/wait.js";
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
  const { storeId, client } = run.settings;
  const body: unknown = JSON.parse(entry.body ?? "{}");
  const mark = markOf(storeId, entry.key);
  const marks = await marksOfOthers(run.settings, entry);
  return unknownIfUnreadable(attempt, async () => {
    const read = () => client.inventory.readLotsOfItem(String(fieldOf(body, "itemID")), {}, findOptions(run, attempt));
    const isOwn = (lot: object) => hasMark(Object(body), mark) && hasText(lot, mark);
    const isOthers = (lot: object) => marks.some((other) => hasText(lot, other) && !hasText(body, other));
    const sentAt = sentAtByService(entry);
    const judge = async () => judgeLots(await read(), { isOwn, isOthers, sentAt });
    let { outcome, lots } = await judge();
    if (outcome !== "applied") {
      await settle(run, attempt);
      ({ outcome, lots } = await judge());
    }
    if (outcome === "absent") return NOT_APPLIED;
    const recNos = lots.map(({ recNo }) => recNo);
    if (outcome === "applied") return applied({ recNo: recNos[0] });
    const reason =
      recNos.length > 0
        ? `lots ${recNos.slice(0, 10).join(", ")} were received since then and may be its own`
        : "it cannot be proved that no lot was received since then";
    return unknownOutcome(reason, attempt, recNos);
  });
}

/** Waits until the request can no longer take effect. */
async function settle(run: RunContext, attempt: UncertainAttempt): Promise<void> {
  await sleep(untilSecondLookMs(run, attempt), attempt.signal);
  attempt.signal.throwIfAborted();
}

/**
 * For how long the attempt counts as in progress: long enough for a second look, unless `settleMs` is less. Two looks
 * are required even if the request ended long ago, since one list may lack a record for a moment, and a wrong "not
 * applied" would be applied twice.
 */
const untilSecondLookMs = ({ settings }: RunContext, attempt: UncertainAttempt) =>
  Math.max(inProgressMsOf(attempt), Math.min(BETWEEN_LOOKS_MS, settings.settleMs));

async function findCreationOutcome(run: RunContext, attempt: UncertainAttempt): Promise<StateChange> {
  return unknownIfUnreadable(attempt, async () => {
    const { outcome, item } = await searchItem(run, attempt, "create", true);
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
  const change = await unknownIfUnreadable(attempt, async () => {
    const { outcome, item } = await searchItem(run, attempt, operation, operation !== "create");
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

/** Whether the item is as the write wants it; if not, it is read again when the request can no longer take effect. */
async function searchItem(
  run: RunContext,
  attempt: UncertainAttempt,
  operation: "create" | "update" | "discontinue",
  mayTakeEffect: boolean,
): Promise<{ outcome: "applied" | "not-applied" | "ambiguous"; item?: Item }> {
  const { shortID, ...fields }: Record<string, unknown> = Object(JSON.parse(attempt.entry.body ?? "{}"));
  const wanted = operation === "discontinue" ? { discontinued: true } : fields;
  const look = async () => {
    const item = await readItem(run, attempt, String(shortID));
    if (!item) return { outcome: operation === "discontinue" ? "ambiguous" : "not-applied" } as const;
    const isAsSent =
      isSameSku(shortID, item.shortID) &&
      Object.entries(wanted).every(
        ([name, value]) => !Object.hasOwn(item, name) || isSameValue(value, fieldOf(item, name)),
      );
    if (isAsSent) return { outcome: "applied", item } as const;
    // The service may keep a value in another form, so a difference proves nothing. A flag has no other form.
    return { outcome: operation === "discontinue" ? "not-applied" : "ambiguous", item } as const;
  };
  const found = await look();
  if (found.outcome === "applied" || !mayTakeEffect) return found;
  await settle(run, attempt);
  return look();
}

async function readItem(run: RunContext, attempt: UncertainAttempt, shortID: string): Promise<Item | undefined> {
  try {
    return await run.settings.client.items.get(shortID, findOptions(run, attempt));
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
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

/** The service, or a person, may have put something before a mark, or changed its case. */
const hasText = (of: unknown, text: string): boolean =>
  ["remark", "serial"].some((name) =>
    String(fieldOf(of, name) ?? "")
      .toLowerCase()
      .includes(text.toLowerCase()),
  );

/** The marks of the other receipts of the item. */
async function marksOfOthers(
  { store, storeId }: { store: OutboxStore; storeId: string },
  { key, lane }: StoredEntry,
): Promise<string[]> {
  const marks: string[] = [];
  for await (const other of inBatches((page) => store.list({ lane, ...page })))
    if (other.operation === "receive" && other.key !== key) marks.push(markOf(storeId, other.key));
  return marks;
}

const sentAtByService = ({ sentAt, clockAheadMs }: StoredEntry) =>
  sentAt === null || clockAheadMs === null ? undefined : sentAt + clockAheadMs;
