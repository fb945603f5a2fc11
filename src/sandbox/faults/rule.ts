/**
 * What goes wrong.
 *
 * - `status`: the answer has this status, and this body (an object or array is sent as JSON, text as it is)
 * - `drop`: the connection breaks before the service answers
 * - `hang`: no answer ever comes
 * - `slow`: the body arrives piece by piece
 * - `truncated`: the connection breaks in the middle of the body
 * - `invalid-json`, `empty`: a body that is not JSON; no body at all
 * - `html`: a proxy's error page
 * - `wrong-shape`: valid JSON that is not what the service documents
 * - `oversized`: a very large body
 *
 * `when` says whether the request still takes effect: a write that is dropped `after` has been applied.
 */
export type Fault =
  | {
      /** An error status instead of the answer. */
      type: "status";
      /** HTTP status of the answer. */
      status: number;
      /** @default the service's own error object for that status */
      body?: unknown;
      /** Further headers of the answer. @default none */
      headers?: Readonly<Record<string, string>>;
      /** @default "before" */
      when?: "before" | "after";
    }
  | {
      /** The connection breaks, or no answer comes. */
      type: "drop" | "hang";
      /** @default "before" */
      when?: "before" | "after";
    }
  | {
      /** The body comes in pieces. */
      type: "slow";
      /** Pause before each piece, in milliseconds. @default 50 */
      delayMs?: number;
      /** Size of a piece, in bytes. @default 256 */
      chunkBytes?: number;
    }
  | {
      /** The connection breaks within the body. */
      type: "truncated";
      /** How much of the body is sent. @default half of it */
      bytes?: number;
    }
  | {
      /** The body is no JSON, or there is none. */
      type: "invalid-json" | "empty";
    }
  | {
      /** The error page of a proxy. */
      type: "html";
      /** @default 502 */
      status?: number;
      /** @default "before" */
      when?: "before" | "after";
    }
  | {
      /** A success with another body than documented. */
      type: "wrong-shape";
      /** Sent in place of the documented body. @default { "unexpected": true } */
      body?: unknown;
    }
  | {
      /** A body that goes on and on. */
      type: "oversized";
      /** @default 100 MiB */
      bytes?: number;
    };

/** A fault without details, or a status code. */
export type FaultShorthand = Exclude<Fault["type"], "status"> | "drop-after" | "hang-after" | number;

/** Which requests go wrong, how often, and how. The first rule that fits a request decides. */
export interface FaultRule {
  /** HTTP method. @default any */
  method?: string;
  /** Path relative to the base URL, as sent (encoded), without the query; `*` stands for anything. @default any */
  path?: string | RegExp;
  /** Only requests of this client. @default any */
  clientId?: string;
  /** Let this many fitting requests through first. @default 0 */
  skip?: number;
  /** Spoil this many, then no more. @default Infinity */
  times?: number;
  /** Share of fitting requests to spoil, from 0 to 1; repeatable, since it follows `seed`. @default 1 */
  probability?: number;
  /** What happens to these requests. */
  fault: Fault | FaultShorthand;
}
