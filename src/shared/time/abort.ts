/** A signal, or the scope of a call: Node.js 20 takes 5 µs to create a signal, and as long to collect it. */
export type Abortable =
  | AbortSignal
  | { readonly aborted: boolean; readonly reason: unknown; onAbort(callback: () => void): () => void };

interface AbortListeners {
  callbacks: Set<() => void>;
  stop(): void;
}

const abortListenersBySignal = new WeakMap<AbortSignal, AbortListeners>();

/**
 * Calls back when the signal aborts. Returns a function that removes the callback. A signal has one listener, however
 * many calls use it (Node warns beyond ten), and none while no call uses it.
 */
export function onAbort(signal: Abortable, callback: () => void): () => void {
  if ("onAbort" in signal) return signal.onAbort(callback);
  const { callbacks, stop } = abortListenersBySignal.get(signal) ?? listenToSignal(signal);
  callbacks.add(callback);
  return () => {
    if (callbacks.delete(callback) && callbacks.size === 0) stop();
  };
}

function listenToSignal(signal: AbortSignal): AbortListeners {
  const callbacks = new Set<() => void>();
  const listener = () => {
    abortListenersBySignal.delete(signal);
    for (const callback of [...callbacks]) callback();
  };
  const stop = () => {
    signal.removeEventListener("abort", listener);
    abortListenersBySignal.delete(signal);
  };
  const listeners = { callbacks, stop };
  signal.addEventListener("abort", listener, { once: true });
  abortListenersBySignal.set(signal, listeners);
  return listeners;
}
