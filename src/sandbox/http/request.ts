/** A request, whichever adapter received it. */
export interface SandboxRequest {
  readonly method: string;
  /** Path and query exactly as sent, for example `/api/v1/Item?key=A%2FB&type=id`. */
  readonly target: string;
  header(name: string): string | null;
  /** The whole body as a string; empty if there is none. */
  readonly body: string;
  /** Remote address, for a rate limit per address. */
  readonly address: string;
  /** Aborted when the caller has disconnected or aborted. */
  readonly signal: AbortSignal;
}

/** The version segment that every path begins with. */
export const SERVICE_BASE_PATH = "/api/v1";

/** Path relative to the base address, still encoded, or undefined if it is outside. */
export function pathRelativeToBase(path: string): string | undefined {
  if (!path.startsWith(SERVICE_BASE_PATH)) return undefined;
  const rest = path.slice(SERVICE_BASE_PATH.length);
  return rest === "" || rest.startsWith("/") ? rest || "/" : undefined;
}

export function splitRequestTarget(target: string): { path: string; query: URLSearchParams } {
  const mark = target.indexOf("?");
  if (mark === -1) return { path: target, query: EMPTY_QUERY };
  return { path: target.slice(0, mark), query: new URLSearchParams(target.slice(mark + 1)) };
}

const EMPTY_QUERY = new URLSearchParams();
