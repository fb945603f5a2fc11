/** Identifies a record of a list. */
export type RecordKey = string | number;

/** Bits of one block of the bitmap. */
const BLOCK_BITS = 1 << 14;
const BLOCK_BYTES = BLOCK_BITS / 8;
/** Memory of one key in a `Set`, approximately. Blocks of the bitmap may not take more per key. */
const SET_BYTES_PER_KEY = 32;
/** This many blocks are allowed regardless of the number of keys. */
const MAX_UNCONDITIONAL_BLOCKS = 16;

/**
 * The keys seen so far. Integers that are close together, such as record numbers, take about one bit each. All other keys are
 * in a `Set`.
 */
export class SeenKeys {
  readonly #blocks = new Map<number, Uint32Array>();
  readonly #others = new Set<RecordKey>();
  #numbers = 0;

  has(key: RecordKey): boolean {
    if (typeof key === "number" && Number.isSafeInteger(key) && key >= 0) {
      const block = this.#blocks.get(Math.floor(key / BLOCK_BITS));
      const bit = key % BLOCK_BITS;
      if (block !== undefined && ((block[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0) return true;
      // A key that was added before its block was created is in the `Set`.
    }
    return this.#others.size > 0 && this.#others.has(key);
  }

  /** Adds a key. Returns true if it is new. */
  add(key: RecordKey): boolean {
    if (this.has(key)) return false;
    const block = typeof key === "number" && Number.isSafeInteger(key) && key >= 0 ? this.#blockFor(key) : undefined;
    if (block === undefined || typeof key === "string") {
      this.#others.add(key);
      return true;
    }
    const bit = key % BLOCK_BITS;
    block[bit >>> 5] = (block[bit >>> 5] ?? 0) | (1 << (bit & 31));
    return true;
  }

  #blockFor(key: number): Uint32Array | undefined {
    this.#numbers += 1;
    const index = Math.floor(key / BLOCK_BITS);
    const block = this.#blocks.get(index);
    if (block !== undefined) return block;
    const bytes = (this.#blocks.size + 1) * BLOCK_BYTES;
    if (bytes > MAX_UNCONDITIONAL_BLOCKS * BLOCK_BYTES + this.#numbers * SET_BYTES_PER_KEY) return undefined;
    const created = new Uint32Array(BLOCK_BYTES / 4);
    this.#blocks.set(index, created);
    return created;
  }
}
