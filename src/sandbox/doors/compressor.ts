import { promisify } from "node:util";
import { gzip } from "node:zlib";

const compress = promisify<Buffer, { level: number }, Buffer>(gzip);
const FAST = { level: 1 };

/** Below this, compressing costs more than it saves. */
const FROM_CHARACTERS = 2048;

/** How much text is remembered together with its compressed form. */
const REMEMBERED_CHARACTERS = 16 * 1024 * 1024;

/** Compresses bodies, and remembers the last ones: the same pages are asked for again and again. */
export class Compressor {
  private readonly known = new Map<string, Buffer>();
  private characters = 0;

  worthwhile(body: string): boolean {
    return body.length >= FROM_CHARACTERS;
  }

  async gzip(body: string): Promise<Buffer> {
    const known = this.known.get(body);
    if (known) return known;
    const packed = await compress(Buffer.from(body), FAST);
    this.remember(body, packed);
    return packed;
  }

  private remember(body: string, packed: Buffer): void {
    if (body.length > REMEMBERED_CHARACTERS / 16 || this.known.has(body)) return;
    this.known.set(body, packed);
    this.characters += body.length;
    for (const oldest of this.known.keys()) {
      if (this.characters <= REMEMBERED_CHARACTERS) break;
      this.known.delete(oldest);
      this.characters -= oldest.length;
    }
  }
}
