import { promisify } from "node:util";
import { gzip, gzipSync } from "node:zlib";

const compress = promisify<Body, { level: number }, Buffer>(gzip);
const FAST = { level: 1 };

/** Below this, compressing costs more than it saves. */
const FROM = 2048;

/** From here on compressing holds up other requests for longer than it takes to hand it to another thread. */
const ASIDE_FROM = 32_768;

type Body = string | Buffer;

export function isWorthCompressing(body: Body): boolean {
  return body.length >= FROM;
}

/** The body as gzip; at once for an ordinary page, and on another thread for a large one. */
export function compressed(body: Body): Buffer | Promise<Buffer> {
  return body.length < ASIDE_FROM ? gzipSync(body, FAST) : compress(body, FAST);
}
