/** One request that the sandbox was asked, in the order of arrival. */
export interface LoggedRequest {
  /** HTTP method. */
  readonly method: string;
  /** Relative to the base URL, as sent (encoded), without the query. */
  readonly path: string;
  /** Query parameters, decoded. */
  readonly query: Readonly<Record<string, string>>;
  /** The JSON body, or the form's fields; a string if it is neither; undefined if empty. A `client_secret` is redacted. */
  readonly body: unknown;
  /** HTTP status of the answer; null as long as there is none, and for ever when a fault withholds it. */
  status: number | null;
  /** Who asked, as far as the credentials or the token tell. */
  clientId: string | undefined;
  /** When it arrived, in milliseconds since the epoch. */
  readonly at: number;
  /** Requests left in the rate window once this one was counted; null without a limit. */
  remaining: number | null;
  /** The kind of fault that spoiled the answer. */
  fault: string | undefined;
}

/** Remembers the last requests. */
export class RequestLog {
  /** The same array for ever, so that a test can hold on to it. */
  readonly entries: LoggedRequest[] = [];

  constructor(private readonly size: number) {}

  add(entry: LoggedRequest): void {
    this.entries.push(entry);
    // Not at every request: moving a hundred thousand entries down by one costs more than the request itself.
    if (this.entries.length > this.size * 1.25) this.entries.splice(0, this.entries.length - this.size);
  }

  clear(): void {
    this.entries.length = 0;
  }
}

const REDACTED = "[redacted]";

/** The query as the log shows it. */
export function loggableQuery(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].map(([name, value]) => [name, name === SECRET_FIELD ? REDACTED : value]));
}

/** The body as the log shows it. */
export function loggableBody(contentType: string | null, body: string): unknown {
  if (body === "") return undefined;
  if (/form-urlencoded/i.test(contentType ?? "")) return loggableQuery(new URLSearchParams(body));
  try {
    return JSON.parse(body, (name, value) => (name === SECRET_FIELD ? REDACTED : value));
  } catch {
    return body.replace(/(\bclient_secret\b["']?\s*[=:]\s*)[^&\s]+/g, `$1${REDACTED}`);
  }
}

const SECRET_FIELD = "client_secret";
