import type { Transform } from "node:stream";
import { nodeZlib } from "../../runtime/node-modules.js";

/** The content codings to accept, best first. */
export const ACCEPTED_ENCODINGS = "gzip, br";

/** How much of a body is read. */
export interface BodyLimit {
  maxBytes: number;
  /** A larger body is cut off instead of being refused. */
  isCut: boolean;
}

/** Decoding stopped because the body would have been too large. */
export class BodyTooLarge extends Error {}

/** Decodes the body. Rejects if it is not valid in its coding, or larger than the limit, unless it is to be cut off. */
export async function decompressBody(body: Uint8Array, encoding: string, limit: BodyLimit): Promise<Uint8Array> {
  let decoded = body;
  for (const coding of encoding.toLowerCase().split(",").reverse()) {
    const name = coding.trim();
    if (decoded.length === 0 || name === "identity" || name === "") continue;
    const decoder = createDecoder(name);
    if (!decoder) throw new Error(`unknown content coding ${name}`);
    decoded = await decode(decoder, decoded, limit);
  }
  return decoded;
}

function createDecoder(coding: string): Transform | undefined {
  switch (coding) {
    case "gzip":
    case "x-gzip":
      return nodeZlib?.createGunzip();
    case "br":
      return nodeZlib?.createBrotliDecompress();
    case "deflate":
      return nodeZlib?.createInflate();
    default:
      return undefined;
  }
}

async function decode(decoder: Transform, encoded: Uint8Array, { maxBytes, isCut }: BodyLimit): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  decoder.end(encoded);
  try {
    // Leaving the loop early stops the decoder.
    for await (const chunk of decoder) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) throw new BodyTooLarge();
    }
  } catch (error) {
    // What was decoded is enough, also if the encoded body was cut off.
    if (!isCut) throw error;
  }
  return concatChunks(chunks, bytes);
}

export function concatChunks(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks;
  if (only && chunks.length === 1) return only;
  const whole = new Uint8Array(length);
  let position = 0;
  for (const chunk of chunks) {
    whole.set(chunk, position);
    position += chunk.length;
  }
  return whole;
}
