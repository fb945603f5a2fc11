import type { Service } from "../service.js";
import { type FetchInput, incomingFromFetch, signalOf } from "./fetch-request.js";
import { responseFrom } from "./fetch-response.js";

/** A function that is called like the global `fetch` and answers without any network. */
export type SandboxFetch = (input: FetchInput, init?: RequestInit) => Promise<Response>;

export function createFetchDoor(service: Service): SandboxFetch {
  return async (input, init = {}) => {
    const signal = signalOf(input, init);
    if (!signal) return serve(service, input, init, NEVER);
    signal.throwIfAborted();
    return unlessAborted(signal, serve(service, input, init, signal));
  };
}

const NEVER = new AbortController().signal;

async function serve(service: Service, input: FetchInput, init: RequestInit, signal: AbortSignal): Promise<Response> {
  const request = await incomingFromFetch(input, init, signal);
  return responseFrom(await service.handle(request), request, service.hangs);
}

/** Rejects with the signal's reason the moment it fires; leaves no listener behind. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
