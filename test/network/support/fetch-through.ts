import { type Dispatcher, fetch } from "undici";

/** A fetch function that sends through a dispatcher, as the global one does through its own. */
export function fetchThrough(dispatcher: Dispatcher): typeof globalThis.fetch {
  const fetchFunction: unknown = (url: string, init: object) => fetch(url, { ...init, dispatcher });
  return fetchFunction as typeof globalThis.fetch;
}
