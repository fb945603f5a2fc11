import type {
  ChangesQuery,
  MirrorBatch,
  MirrorChange,
  MirrorKey,
  MirrorRecord,
  MirrorResource,
  MirrorSink,
} from "../../src/mirror/index.js";
import { keyOf, mapResources, tableOf } from "../../src/mirror/tables.js";

/** A copy in memory. Records are stored as JSON, so that callers cannot change them. */
export class MemorySink implements MirrorSink {
  /** Called before each commit; an error that it throws makes the commit fail. */
  beforeCommit: (batch: MirrorBatch) => void = () => {};
  isOpen = false;
  readonly commits: Pick<MirrorBatch, "resource" | "upsert" | "remove">[] = [];
  /** The table `changes`. */
  readonly rows: MirrorChange[] = [];
  readonly #records = mapResources(() => new Map<MirrorKey, string>());
  #state: string | undefined;
  #status: NonNullable<MirrorBatch["status"]> = [];

  get state(): string | undefined {
    return this.#state;
  }

  set state(state: string | undefined) {
    this.#state = state;
  }

  async open(): Promise<string | undefined> {
    this.isOpen = true;
    return this.#state;
  }

  async *keys(resource: MirrorResource): AsyncIterable<readonly MirrorKey[]> {
    const keys = [...this.#records[resource].keys()];
    for (let start = 0; start < keys.length; start += 100) yield keys.slice(start, start + 100);
  }

  async read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    return keys.flatMap((key) => this.#records[resource].get(key) ?? []).map((text) => JSON.parse(text));
  }

  async commit(batch: MirrorBatch): Promise<void> {
    const { resource, upsert, remove, previousState, state } = batch;
    this.beforeCommit(batch);
    if (previousState !== this.#state) throw new Error("another mirror writes to this copy");
    const records = this.#records[resource];
    for (const record of upsert) records.set(keyOf(tableOf(resource), record), JSON.stringify(record));
    for (const key of remove) records.delete(key);
    const { changes = [], expireChanges = "" } = batch;
    const first = this.rows.findIndex(({ at }) => at >= expireChanges);
    this.rows.splice(0, first < 0 ? this.rows.length : first);
    this.rows.push(...changes);
    this.#state = state;
    this.#status = batch.status ?? [];
    this.commits.push({ resource, upsert, remove });
  }

  async *changes({ after, resource, key }: ChangesQuery): AsyncGenerator<readonly MirrorChange[]> {
    yield this.rows.filter(
      (row) => row.seq > after && row.resource === (resource ?? row.resource) && row.key === (key ?? row.key),
    );
  }

  async close(): Promise<void> {
    this.isOpen = false;
  }

  /** Deletes the state, but not the records. */
  forget(): void {
    this.#state = undefined;
  }

  /** The rows of `mirror_status`. */
  statusRows(): NonNullable<MirrorBatch["status"]> {
    return this.#status;
  }

  /** All records of a resource, by key. */
  all(resource: MirrorResource): Map<MirrorKey, MirrorRecord> {
    return new Map([...this.#records[resource]].map(([key, text]) => [key, JSON.parse(text)]));
  }
}
