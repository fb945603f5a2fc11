import { promisify } from "node:util";
import { gzip, gzipSync } from "node:zlib";

const compress = promisify<Body, { level: number }, Buffer>(gzip);
const FASTEST_LEVEL = { level: 1 };

/** Below this, compressing costs more than it saves. */
const MIN_COMPRESSED_LENGTH = 2048;

/** From here on compressing holds up other requests for longer than it takes to hand it to another thread. */
const MIN_ASYNC_LENGTH = 32_768;

type Body = string | Buffer;

export function isWorthCompressing(body: Body): boolean {
  return body.length >= MIN_COMPRESSED_LENGTH;
}

/** The body as gzip; at once for an ordinary page, and on another thread for a large one. */
export function gzipBody(body: Body): Buffer | Promise<Buffer> {
  return body.length < MIN_ASYNC_LENGTH ? gzipSync(body, FASTEST_LEVEL) : compress(body, FASTEST_LEVEL);
}
