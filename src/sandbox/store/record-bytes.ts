/** How many records are remembered, of one kind. */
const REMEMBERED = 200_000;

/**
 * Records as the bytes of their JSON. A page is put together from these: turning its text into UTF-8 each time would
 * cost more than all the rest of the request. Whoever changes a record has to say so.
 */
export class RecordBytes {
  private readonly known = new Map<number, Buffer>();

  of(id: number, read: (id: number) => unknown): Buffer {
    let bytes = this.known.get(id);
    if (!bytes) {
      if (this.known.size >= REMEMBERED) this.known.clear();
      bytes = Buffer.from(JSON.stringify(read(id)));
      this.known.set(id, bytes);
    }
    return bytes;
  }

  /** Must come with every change of the record. */
  forget(id: number): void {
    this.known.delete(id);
  }

  clear(): void {
    this.known.clear();
  }
}
