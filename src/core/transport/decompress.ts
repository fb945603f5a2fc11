import { fieldOf } from "../../errors/unknown-value.js";
import { nodeUtil, nodeZlib } from "../../runtime/node-modules.js";

/** The content codings to accept, best first. */
export const ACCEPTED_ENCODINGS = "gzip, br";

/** Node.js 20 refuses a higher limit. */
const MAX_OUTPUT_LENGTH = 2 ** 32;

/** Decodes the body. Rejects if it is not valid in its coding, or larger than the limit. */
export async function decompressBody(body: Uint8Array, encoding: string, maxBytes: number): Promise<Uint8Array> {
  let decoded = body;
  for (const coding of encoding.toLowerCase().split(",").reverse()) {
    const name = coding.trim();
    if (decoded.length === 0 || name === "identity" || name === "") continue;
    const decode = decoderOf(name);
    if (!nodeUtil || !decode) throw new Error(`unknown content coding ${name}`);
    decoded = await nodeUtil.promisify(decode)(decoded, { maxOutputLength: Math.min(maxBytes, MAX_OUTPUT_LENGTH) });
  }
  return decoded;
}

function decoderOf(coding: string): NonNullable<typeof nodeZlib>["gunzip"] | undefined {
  switch (coding) {
    case "gzip":
    case "x-gzip":
      return nodeZlib?.gunzip;
    case "br":
      return nodeZlib?.brotliDecompress;
    case "deflate":
      return nodeZlib?.inflate;
    default:
      return undefined;
  }
}

/** Whether decoding stopped because the body would have been too large. */
export const isDecompressedTooLarge = (error: unknown) => fieldOf(error, "code") === "ERR_BUFFER_TOO_LARGE";
