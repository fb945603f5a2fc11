import { ConfigurationError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import type { ServiceIdentity } from "../../storage/service.js";
import {
  type BatchResult,
  type DeliveryStore,
  isInTheWay,
  type NewLine,
  type OutboxBatch,
  type StoredDelivery,
} from "../delivery-store.js";
import type {
  ClaimedLane,
  EntryChange,
  EntryCondition,
  NewEntry,
  OutboxCounts,
  OutboxStore,
  StoredEntry,
  UpdateResult,
} from "../store.js";
import { execute, type Operation } from "./commands.js";
import {
  countsOfRow,
  deliveryOfRow,
  entryOfRow,
  isOtherInput,
  laneOfRow,
  laneToColumn,
  progressValues,
  rowOfEntry,
} from "./entry-row.js";

/*
 * An outbox in an SQL database. Each operation stands here once, as the commands (commands.ts) that it runs in one SQL
 * transaction.
 *
 * An operation is a generator, so that both databases can drive it: PostgreSQL waits for each command, and SQLite, whose
 * driver is synchronous, runs a transaction in one go, while nothing else in the process can get in between.
 */

/** How often a claim looks for other lanes, if other processes claim those that it has found at the same moment. */
const MAX_CLAIM_ATTEMPTS = 5;

/** Longer than any wait; an interval cannot be infinite. */
const MAX_QUIET_MS = 1e12;

/** The operations of a store. A subclass opens the database and runs the commands. */
export abstract class SqlOutboxStore<Opened extends { id: string }> implements DeliveryStore {
  readonly #name: string;
  #opened: Promise<Opened> | undefined;

  /** @param name of the function that creates the store, for messages */
  constructor(name: string) {
    this.#name = name;
  }

  /** Opens the database, and creates or upgrades the tables. */
  protected abstract connect(): Promise<Opened>;

  /** Closes what `connect` has opened; `undefined` if it failed. */
  protected abstract disconnect(opened: Opened | undefined): Promise<void>;

  /** Runs an operation that changes nothing. */
  protected abstract read<T>(begin: () => Operation<T>): Promise<T>;

  /** @param begin Called again if the transaction has to be repeated. */
  protected abstract transaction<T>(begin: () => Operation<T>): Promise<T>;

  /** Runs an operation in a transaction of the caller. */
  protected abstract join<T>(transaction: unknown, operation: Operation<T>): Promise<T>;

  async open(): Promise<string> {
    this.#opened ??= this.connect();
    try {
      return (await this.#opened).id;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await this.disconnect(await opened?.catch(() => undefined));
  }

  protected get opened(): Promise<Opened> {
    if (this.#opened) return this.#opened;
    throw new ConfigurationError(`${this.#name}: the store is not open. Call open() first.`);
  }

  claimService({ id, address }: ServiceIdentity): Promise<string> {
    return this.transaction(function* () {
      yield* execute("claimService", [id, address]);
      const [row] = yield* execute("store");
      return String(fieldOf(row, "service"));
    });
  }

  async add(added: readonly NewEntry[], transaction?: unknown): Promise<StoredEntry[]> {
    if (transaction === undefined) return this.transaction(() => addEntries(added));
    return this.join(transaction, addEntries(added));
  }

  commit(batch: OutboxBatch): Promise<BatchResult> {
    return this.transaction(() => commitBatch(batch));
  }

  async deliveries(filter?: Parameters<DeliveryStore["deliveries"]>[0]): Promise<StoredDelivery[]> {
    return (await this.read(() => deliveriesLike(filter))).map(deliveryOfRow);
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    return (await this.read(() => execute("get", [[key]]))).map(entryOfRow)[0];
  }

  async list({ state, lane, delivery, after, limit }: Parameters<DeliveryStore["list"]>[0]): Promise<StoredEntry[]> {
    const filter = [after, state ?? null, limit];
    const column = lane === undefined ? null : laneToColumn(lane);
    // One command for all would not use the indexes of lanes and deliveries.
    const rows = await this.read(() => {
      if (delivery !== undefined) return execute("listOfDelivery", [...filter, column, delivery]);
      return column === null ? execute("list", filter) : execute("listOfLane", [...filter, column]);
    });
    return rows.map(entryOfRow);
  }

  async count(except: readonly string[]): Promise<OutboxCounts> {
    const [row] = await this.read(() => execute("count", [except.map(laneToColumn)]));
    return countsOfRow(row);
  }

  claim({ owner, leaseMs, limit, except }: Parameters<OutboxStore["claim"]>[0]): Promise<ClaimedLane[]> {
    return this.transaction(function* () {
      const claimed: ClaimedLane[] = [];
      const tried = except.map(laneToColumn);
      for (let attempt = 1; attempt <= MAX_CLAIM_ATTEMPTS && claimed.length < limit; attempt += 1) {
        const rows = yield* execute("claimable", [tried, limit - claimed.length]);
        if (rows.length === 0) break;
        const candidates = rows.map(laneOfRow).map(({ lane }) => lane);
        claimed.push(...(yield* leaseFreeLanes(candidates, owner, leaseMs)));
        tried.push(...candidates);
      }
      return claimed;
    });
  }

  async renew({ owner, leaseMs, lanes }: Parameters<OutboxStore["renew"]>[0]): Promise<string[]> {
    const rows = await this.transaction(() => execute("renew", [lanes.map(laneToColumn), owner, leaseMs]));
    const renewed = new Set(rows.map(laneOfRow).map((row) => row.lane));
    return lanes.filter((lane) => renewed.has(laneToColumn(lane)));
  }

  async release({ owner, lane }: Parameters<OutboxStore["release"]>[0]): Promise<void> {
    await this.transaction(() => execute("release", [laneToColumn(lane), owner]));
  }

  async next(lane: string): Promise<StoredEntry | undefined> {
    return (await this.read(() => execute("nextEntries", [[laneToColumn(lane)]]))).map(entryOfRow)[0];
  }

  update(
    key: string,
    { state, attempts, owner }: EntryCondition,
    change: EntryChange,
  ): Promise<UpdateResult | undefined> {
    return this.transaction(function* () {
      // The lease stays locked until the change is committed.
      const isAllowed = owner === undefined || (yield* execute("lockLease", [key, owner])).length > 0;
      const [entry] = (yield* execute("lockEntries", [[key]])).map(entryOfRow);
      if (!entry) return undefined;
      if (!isAllowed || entry.state !== state || entry.attempts !== attempts) return { changed: false, entry };
      const [row] = yield* execute("change", [key, ...progressValues(entry, change)]);
      if (change.quietMs !== undefined)
        yield* execute("keepQuiet", [laneToColumn(entry.lane), Math.min(change.quietMs, MAX_QUIET_MS), key]);
      return { changed: true, entry: entryOfRow(row) };
    });
  }

  async prune({ settledBefore }: { settledBefore: number }): Promise<number> {
    return (await this.transaction(() => execute("prune", [settledBefore]))).length;
  }
}

/** Leases those lanes that are still free, and returns them with their next entries. */
function* leaseFreeLanes(candidates: readonly string[], owner: string, leaseMs: number): Operation<ClaimedLane[]> {
  yield* execute("addLanes", [candidates]);
  const times = new Map(
    (yield* execute("lockFreeLanes", [candidates])).map(laneOfRow).map((free) => [free.lane, free]),
  );
  // Read again: these entries may have changed before their lanes were locked.
  const claimed = (yield* execute("nextEntries", [[...times.keys()]])).map(entryOfRow).map((entry): ClaimedLane => {
    const { unleased, quiet, quietKey } = times.get(laneToColumn(entry.lane)) ?? {};
    const left = { unleasedMs: unleased ?? undefined, quietMs: Math.max(0, quiet ?? 0) };
    return { lane: entry.lane, entry, ...left, quietKey: quietKey ?? undefined };
  });
  yield* execute("lease", [claimed.map(({ lane }) => laneToColumn(lane)), owner, leaseMs]);
  return claimed;
}

/** Entries that one command adds or reads. */
const ENTRIES_PER_COMMAND = 500;

/** What is prevented changes nothing: everything is verified, and locked, before the first change. */
function* commitBatch(batch: OutboxBatch): Operation<BatchResult> {
  const { add, cancel = [], delivery } = batch;
  const result: BatchResult = { deliveries: [], changed: [], entries: [] };
  if (delivery) {
    yield* execute("lockDeliveries");
    const like = (yield* deliveriesLike(delivery)).map(deliveryOfRow);
    result.deliveries = like.filter((other) =>
      other.name === delivery.name ? other.digest !== batch.correctsDigest : isInTheWay(other, delivery),
    );
  }
  const asRead = new Map(cancel.map((entry) => [entry.key, entry]));
  const stored = (yield* execute("lockEntries", [[...asRead.keys()]])).map(entryOfRow);
  result.changed = stored.filter(({ key, state, attempts }) => {
    const read = asRead.get(key);
    return read?.state !== state || read.attempts !== attempts;
  });
  if (result.deliveries.length > 0 || result.changed.length > 0) return result;
  result.entries = yield* addEntries(add);
  if (isOtherInput(add, result.entries)) return result;
  for (const reason of new Set(cancel.map((entry) => entry.reason))) {
    const keys = cancel.filter((entry) => entry.reason === reason).map(({ key }) => key);
    yield* execute("cancel", [keys, Date.now(), reason ?? null]);
  }
  if (delivery) {
    const { name, file, digest, lines, begunAt } = delivery;
    yield* execute("recordDelivery", [name, file, digest, lines, begunAt]);
  }
  return result;
}

/** The rows of deliveries, see `DeliveryStore.deliveries`. */
const deliveriesLike = (filter: Parameters<DeliveryStore["deliveries"]>[0]) =>
  execute("deliveries", [filter?.name ?? null, filter?.file ?? null, filter?.digest ?? null]);

/** Adds all entries or none. In either case, the transaction can continue. */
function* addEntries(added: readonly NewLine[]): Operation<StoredEntry[]> {
  const slices = Array.from({ length: Math.ceil(added.length / ENTRIES_PER_COMMAND) }, (_, index) =>
    added.slice(index * ENTRIES_PER_COMMAND, (index + 1) * ENTRIES_PER_COMMAND),
  );
  const storedEntries = function* (): Operation<StoredEntry[]> {
    const stored: StoredEntry[] = [];
    for (const keys of slices.map((slice) => slice.map(({ key }) => key))) {
      const found = new Map((yield* execute("get", [keys])).map(entryOfRow).map((entry) => [entry.key, entry]));
      stored.push(...keys.flatMap((key) => found.get(key) ?? []));
    }
    return stored;
  };
  yield* execute("beginAdd");
  try {
    for (const slice of slices) yield* execute("insert", [JSON.stringify(slice.map(rowOfEntry))]);
    const stored = yield* storedEntries();
    if (!isOtherInput(added, stored)) return stored;
  } catch (error) {
    try {
      yield* execute("undoAdd");
    } catch {
      // The first error is the reason.
    }
    throw error;
  }
  yield* execute("undoAdd");
  return yield* storedEntries();
}
