import type { RequestOptions } from "./request-options.js";

export type BeforeSend = NonNullable<RequestOptions["beforeSend"]>;

const listeners = new WeakMap<object, () => void>();

/**
 * Registers a listener for a call. The listener is called when an attempt has failed and the call will be repeated,
 * before the wait for the next attempt. A write is repeated only if the attempt was not applied.
 *
 * @param beforeSend The `beforeSend` of the call, which identifies the call. There is no option for the listener,
 * because only the outbox needs it.
 */
export const onRetry = (beforeSend: BeforeSend, listener: () => void): void => void listeners.set(beforeSend, listener);

/** Notifies the listener of the call with this `beforeSend` that the call will be repeated. */
export const notifyRetry = (beforeSend: BeforeSend | undefined): void => {
  if (beforeSend) listeners.get(beforeSend)?.();
};
