import { constants } from "node:buffer";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";

const decoders = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
};

/** The codings to ask for, best first. */
export const ACCEPTED_ENCODINGS = "gzip, br";

/** The body without its codings. Rejects when it is not what its codings say, or grows beyond the limit. */
export async function decompress(body: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  if (!encoding || body.length === 0) return body;
  let decoded = body;
  for (const coding of encoding.toLowerCase().split(",").reverse()) {
    const name = coding.trim();
    if (name === "identity" || name === "") continue;
    const decode = isKnown(name) ? decoders[name] : undefined;
    if (!decode) throw new Error(`unknown content coding ${name}`);
    decoded = await decode(decoded, { maxOutputLength: Math.min(maxBytes, constants.MAX_LENGTH) });
  }
  return decoded;
}

/** Whether decoding stopped because the body would have been too large. */
export const isTooLarge = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";

const isKnown = (name: string): name is keyof typeof decoders => Object.hasOwn(decoders, name);
