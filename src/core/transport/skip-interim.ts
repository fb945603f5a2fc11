import type { Socket } from "node:net";

/** All informational statuses but 101, which ends HTTP. */
const INTERIM_STATUS_LINE_PATTERN = /^HTTP\/1\.1 1(?!01)\d\d/;
const MIN_STATUS_LINE = "HTTP/1.1 100";
const END_OF_HEAD = "\r\n\r\n";
const MAX_HEAD_BYTES = 16_384;

/**
 * Makes a connection skip unsolicited interim responses, as RFC 9110, section 15.2, requires: undici closes the connection at
 * a `100 Continue`. undici sends one request at a time on a connection, so a response begins with the first byte that is
 * read after something was written.
 */
export function skipInterimResponses(socket: Socket): Socket {
  const read = socket.read.bind(socket);
  const write: (...args: never[]) => boolean = socket.write;
  let isAtStart = false;
  let buffered: Buffer = Buffer.alloc(0);
  return Object.assign(socket, {
    write(...args: never[]) {
      isAtStart = true;
      return write.apply(socket, args);
    },
    read(size?: number): unknown {
      for (;;) {
        const chunk: unknown = read(size);
        if (!isAtStart || !Buffer.isBuffer(chunk)) return chunk;
        buffered = withoutInterimResponses(buffered.length > 0 ? Buffer.concat([buffered, chunk]) : chunk);
        if (mayBeInterimResponse(buffered) && buffered.length < MAX_HEAD_BYTES) continue;
        isAtStart = false;
        const rest = buffered;
        buffered = Buffer.alloc(0);
        return rest;
      }
    },
  });
}

/** The bytes after the complete interim responses at the beginning. */
function withoutInterimResponses(bytes: Buffer): Buffer {
  let rest = bytes;
  while (INTERIM_STATUS_LINE_PATTERN.test(startOfText(rest))) {
    const end = rest.indexOf(END_OF_HEAD);
    if (end < 0) break;
    rest = rest.subarray(end + END_OF_HEAD.length);
  }
  return rest;
}

/** Whether the bytes, as far as they go, may be the beginning of an interim response. */
function mayBeInterimResponse(bytes: Buffer): boolean {
  const start = startOfText(bytes);
  return INTERIM_STATUS_LINE_PATTERN.test(start + MIN_STATUS_LINE.slice(start.length));
}

const startOfText = (bytes: Buffer) => bytes.toString("latin1", 0, MIN_STATUS_LINE.length);
