import { constants } from "node:buffer";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { fieldOf } from "../../errors/unknown-value.js";

const CONTENT_DECODERS = new Map([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  ["br", brotliDecompress],
  ["deflate", inflate],
]);

/** The content codings to accept, best first. */
export const ACCEPTED_ENCODINGS = "gzip, br";

/** Decodes the body. Rejects if it is not valid in its coding, or larger than the limit. */
export async function decompressBody(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  let decoded = body;
  for (const coding of encoding.toLowerCase().split(",").reverse()) {
    const name = coding.trim();
    if (decoded.length === 0 || name === "identity" || name === "") continue;
    const decode = CONTENT_DECODERS.get(name);
    if (!decode) throw new Error(`unknown content coding ${name}`);
    decoded = await promisify(decode)(decoded, { maxOutputLength: Math.min(maxBytes, constants.MAX_LENGTH) });
  }
  return decoded;
}

/** Whether decoding stopped because the body would have been too large. */
export const isDecompressedTooLarge = (error: unknown) => fieldOf(error, "code") === "ERR_BUFFER_TOO_LARGE";
