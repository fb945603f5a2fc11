/** How many records are remembered, of one kind. */
const MAX_ENTRIES = 200_000;

/**
 * Records as the bytes of their JSON. A page is put together from these: turning its text into UTF-8 each time would
 * cost more than all the rest of the request. Whoever changes a record has to say so.
 */
export class JsonCache {
  private readonly entries = new Map<number, Buffer>();

  get(id: number, read: (id: number) => unknown): Buffer {
    let bytes = this.entries.get(id);
    if (!bytes) {
      if (this.entries.size >= MAX_ENTRIES) this.entries.clear();
      bytes = Buffer.from(JSON.stringify(read(id)));
      this.entries.set(id, bytes);
    }
    return bytes;
  }

  /** Must come with every change of the record. */
  delete(id: number): void {
    this.entries.delete(id);
  }

  clear(): void {
    this.entries.clear();
  }
}
