import { bodyToBytes } from "../http/response.js";

/** Records in one cache. */
const MAX_CACHED_RECORDS = 200_000;

/**
 * The JSON of records as bytes, from which pages are assembled: encoding them for each request would cost more than the
 * rest of the request (bench/sandbox.ts). A changed record must be deleted from the cache.
 */
export class JsonCache {
  private readonly entries = new Map<number, Uint8Array>();

  get(id: number, read: (id: number) => unknown): Uint8Array {
    let bytes = this.entries.get(id);
    if (!bytes) {
      if (this.entries.size >= MAX_CACHED_RECORDS) this.entries.clear();
      bytes = bodyToBytes(JSON.stringify(read(id)));
      this.entries.set(id, bytes);
    }
    return bytes;
  }

  /** Required after every change of the record. */
  delete(id: number): void {
    this.entries.delete(id);
  }

  clear(): void {
    this.entries.clear();
  }
}
