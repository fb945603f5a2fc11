/**
 * A mirror whose copy is one JSON file: a sink of one's own, for a copy that fits into memory.
 *
 *     npx tsx examples/mirror-own-sink.ts [file]
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { InventoryClient } from "stocklot";
import {
  createMirror,
  type MirrorBatch,
  type MirrorKey,
  type MirrorRecord,
  type MirrorResource,
  type MirrorSink,
} from "stocklot/mirror";
import { connect, outFile } from "./connect.js";

/** What the file contains: the records by resource and key, and the state of the mirror. */
interface Copy {
  state?: string;
  records: { [resource: string]: { [key: string]: MirrorRecord } };
}

class JsonFileSink implements MirrorSink {
  readonly #file: string;
  #copy: Copy = { records: {} };

  constructor(file: string) {
    this.#file = file;
  }

  async open(): Promise<string | undefined> {
    this.#copy = await readFile(this.#file, "utf8").then(JSON.parse, (error) => {
      if (error.code !== "ENOENT") throw error;
      return { records: {} };
    });
    return this.#copy.state;
  }

  async *keys(resource: MirrorResource): AsyncGenerator<MirrorKey[]> {
    // Only stock levels per warehouse have keys that are not numbers.
    const keys = Object.keys(this.#copy.records[resource] ?? {});
    yield keys.map((key) => (resource === "warehouseStockLevels" ? key : Number(key)));
  }

  async read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    return keys.flatMap((key) => this.#copy.records[resource]?.[key] ?? []);
  }

  /** All or nothing: the file is replaced as a whole. */
  async commit({ resource, upsert, remove, previousState, state }: MirrorBatch): Promise<void> {
    if (this.#copy.state !== previousState) throw new Error("another mirror writes to this copy");
    const records = { ...this.#copy.records[resource] };
    for (const record of upsert) records[keyOf(record)] = record;
    for (const key of remove) delete records[key];
    const copy = { state, records: { ...this.#copy.records, [resource]: records } };
    await mkdir(dirname(this.#file), { recursive: true });
    await writeFile(`${this.#file}.new`, JSON.stringify(copy), { flush: true });
    await rename(`${this.#file}.new`, this.#file);
    this.#copy = copy;
  }

  async close(): Promise<void> {}
}

function keyOf(record: MirrorRecord): MirrorKey {
  if ("recNo" in record) return record.recNo;
  return "wID" in record ? `${record.wID}/${record.partNo}` : record.partNo;
}

const { service } = connect({ items: 200, lots: 500 });
const client = new InventoryClient(service);
const mirror = createMirror({ client, sink: new JsonFileSink(process.argv[2] ?? outFile("copy.json")) });
const { added, changed, removed } = await mirror.run();
console.log(`${added} added, ${changed} changed, ${removed} removed`);
await client.close();
