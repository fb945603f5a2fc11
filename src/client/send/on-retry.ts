import type { RequestOptions } from "./request-options.js";

type BeforeSend = NonNullable<RequestOptions["beforeSend"]>;

const listeners = new WeakMap<object, () => void>();

/**
 * Calls back when an attempt has failed and its call will be repeated, before the wait for that. A write goes on only if
 * the attempt was not applied.
 *
 * @param beforeSend That of the call: there is no option, since only the outbox needs to know.
 */
export const onRetry = (beforeSend: BeforeSend, listener: () => void): void => void listeners.set(beforeSend, listener);

/** The call with this `beforeSend` will be repeated. */
export const notifyRetry = (beforeSend: BeforeSend | undefined): void => {
  if (beforeSend) listeners.get(beforeSend)?.();
};
