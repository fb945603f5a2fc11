/** One request to the sandbox. */
export interface LoggedRequest {
  /** HTTP method. */
  readonly method: string;
  /** Relative to the base URL, as sent (encoded), without the query. */
  readonly path: string;
  /** Query parameters, decoded. */
  readonly query: Readonly<Record<string, string>>;
  /** The JSON body, or the form's fields; a string if it is neither; undefined if empty. A `client_secret` is redacted. */
  readonly body: unknown;
  /** HTTP status of the response; null until there is one, and always null if a fault withholds it. */
  status: number | null;
  /** Client ID, if the credentials or the token identify the client. */
  clientId: string | undefined;
  /** When the request arrived, in ms since the epoch. */
  readonly at: number;
  /** Requests left in the rate window after this one; null without a limit. */
  remaining: number | null;
  /** The type of the fault that was applied. */
  fault: string | undefined;
}

/** Keeps the latest requests. */
export class RequestLog {
  /** Always the same array, so that a test can keep a reference. */
  readonly records: LoggedRequest[] = [];

  constructor(private readonly size: number) {}

  add(logged: LoggedRequest): void {
    this.records.push(logged);
    // Not at every request: moving a hundred thousand records down by one costs more than the request itself.
    if (this.records.length > this.size * 1.25) this.records.splice(0, this.records.length - this.size);
  }

  clear(): void {
    this.records.length = 0;
  }
}

const REDACTED = "[redacted]";

/** The query as the log shows it. */
export function redactQuery(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].map(([name, value]) => [name, name === CLIENT_SECRET_FIELD ? REDACTED : value]));
}

/** The body as the log shows it. */
export function redactBody(contentType: string | null, body: string): unknown {
  if (body === "") return undefined;
  if (/form-urlencoded/i.test(contentType ?? "")) return redactQuery(new URLSearchParams(body));
  try {
    return JSON.parse(body, (name, value) => (name === CLIENT_SECRET_FIELD ? REDACTED : value));
  } catch {
    return body.replace(/(\bclient_secret\b["']?\s*[=:]\s*)[^&\s]+/g, `$1${REDACTED}`);
  }
}

const CLIENT_SECRET_FIELD = "client_secret";
