import type { SandboxRequest } from "../http/incoming.js";

/** What `fetch` can be called with. */
export type FetchInput = string | URL | Request;

/** Reads the arguments of a fetch call into a request. */
export async function requestFromFetch(
  input: FetchInput,
  init: RequestInit,
  signal: AbortSignal,
): Promise<SandboxRequest> {
  // The signal stays out: a Request would hang a listener on it that only garbage collection removes.
  const { signal: _signal, ...rest } = init;
  const request = new Request(input, rest.body ? { duplex: "half", ...rest } : rest);
  const { pathname, search } = new URL(request.url);
  return {
    method: request.method,
    target: pathname + search,
    header: (name) => request.headers.get(name),
    body: request.body ? await request.text() : "",
    address: "127.0.0.1",
    signal,
  };
}

/** The signal that counts: that of `init`, or else that of the request. */
export function signalOf(input: FetchInput, init: RequestInit): AbortSignal | undefined {
  if (init.signal) return init.signal;
  return typeof input === "object" && "signal" in input ? input.signal : undefined;
}
