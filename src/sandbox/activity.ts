import { REDACTED } from "../shared/errors/redact.js";
import { callSafely } from "../shared/time/callback.js";
import { messageOf } from "../shared/unknown.js";

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

const MAX_LOGGED_REQUESTS = 100_000;

/** Adds a request, and removes the oldest ones beyond 100,000. */
export function addToLog(records: LoggedRequest[], logged: LoggedRequest): void {
  records.push(logged);
  // Done rarely, since moving a hundred thousand records by one costs more than the request itself.
  if (records.length > MAX_LOGGED_REQUESTS * 1.25) records.splice(0, records.length - MAX_LOGGED_REQUESTS);
}

/** Returns the query in the form in which `sandbox.requests` shows it. */
export function redactQuery(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].map(([name, value]) => [name, name === CLIENT_SECRET_FIELD ? REDACTED : value]));
}

/** Returns the body in the form in which `sandbox.requests` shows it. */
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

/** Called for each request, once its response is known. */
type RequestListener = (request: LoggedRequest) => void;

export class RequestListeners {
  readonly #listeners = new Set<RequestListener>();
  readonly #failed = new WeakSet<RequestListener>();

  /** Returns a function that removes the listener. */
  add(listener: RequestListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listeners. A listener that throws or rejects changes no response; its first failure is printed as a warning. */
  notify(request: LoggedRequest): void {
    for (const listener of this.#listeners) {
      callSafely(
        () => listener(request),
        (error) => {
          if (this.#failed.has(listener)) return;
          this.#failed.add(listener);
          emitWarning(`A listener of the sandbox failed: ${messageOf(error)}`);
        },
      );
    }
  }
}

function emitWarning(message: string): void {
  if ("process" in globalThis) process.emitWarning(message);
  else console.warn(message);
}
