interface AbortListeners {
  callbacks: Set<() => void>;
  stop(): void;
}

const abortListenersBySignal = new WeakMap<AbortSignal, AbortListeners>();

/**
 * Calls back when the signal aborts. Returns a function that removes the callback. A signal has one listener, however
 * many calls use it (Node warns beyond ten), and none while no call uses it.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
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

/** A promise that `begin` resolves or rejects, or the signal rejects with its reason. `begin` returns what ends the wait. */
export function abortable<T>(
  signal: AbortSignal,
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stopListening = onAbort(signal, () => {
      stop();
      reject(signal.reason);
    });
    const settle =
      <V>(end: (value: V) => void) =>
      (value: V) => {
        stopListening();
        end(value);
      };
    const stop = begin(settle(resolve), settle(reject));
  });
}
