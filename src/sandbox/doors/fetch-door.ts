import type { Service } from "../service.js";
import { type FetchInput, requestFromFetch, signalOf } from "./fetch-request.js";
import { toFetchResponse } from "./fetch-response.js";

/** A function that is called like the global `fetch` and answers without any network. */
export type SandboxFetch = (input: FetchInput, init?: RequestInit) => Promise<Response>;

export function createFetchAdapter(service: Service): SandboxFetch {
  return async (input, init = {}) => {
    const signal = signalOf(input, init);
    if (!signal) return serve(service, input, init, NEVER_ABORTED);
    signal.throwIfAborted();
    return rejectOnAbort(signal, serve(service, input, init, signal));
  };
}

const NEVER_ABORTED = new AbortController().signal;

async function serve(service: Service, input: FetchInput, init: RequestInit, signal: AbortSignal): Promise<Response> {
  const request = await requestFromFetch(input, init, signal);
  return toFetchResponse(await service.handle(request), request, service.hanging);
}

/** Rejects with the signal's reason the moment it fires; leaves no listener behind. */
function rejectOnAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
