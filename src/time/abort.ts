interface Listeners {
  callbacks: Set<() => void>;
  listener: () => void;
}

const listenersOf = new WeakMap<AbortSignal, Listeners>();

/**
 * Calls back when the signal aborts, and returns what ends that. A signal carries one listener however many calls use
 * it (Node warns beyond ten) and none when no call does.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const listeners = listenersOf.get(signal) ?? listenTo(signal);
  listeners.callbacks.add(callback);
  return () => {
    listeners.callbacks.delete(callback);
    if (listeners.callbacks.size > 0 || listenersOf.get(signal) !== listeners) return;
    signal.removeEventListener("abort", listeners.listener);
    listenersOf.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Listeners {
  const callbacks = new Set<() => void>();
  const listener = () => {
    listenersOf.delete(signal);
    for (const callback of [...callbacks]) callback();
  };
  const listeners = { callbacks, listener };
  signal.addEventListener("abort", listener, { once: true });
  listenersOf.set(signal, listeners);
  return listeners;
}
