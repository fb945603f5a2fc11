import { redactData } from "../../shared/errors/redaction/redact.js";
import { asyncHooks, diagnosticsChannel } from "../../shared/node-modules.js";
import type { DiagnosticsMessages } from "./events.js";

export type ChannelName = keyof DiagnosticsMessages;

/** As much of a channel as is needed to publish. */
interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

/** Without the module, nothing is published. */
export const hasDiagnosticsChannels = diagnosticsChannel !== undefined;

const SILENT_CHANNEL: Channel = { hasSubscribers: false, publish: () => {} };

/** A channel of the process; that of other packages, too. */
export const openChannel = (name: string): Channel => diagnosticsChannel?.channel(name) ?? SILENT_CHANNEL;

const namedChannel = (name: ChannelName) => openChannel(name);

export const CHANNELS: Readonly<Record<ChannelName, Channel>> = {
  "stocklot:request": namedChannel("stocklot:request"),
  "stocklot:retry": namedChannel("stocklot:retry"),
  "stocklot:rate-limit": namedChannel("stocklot:rate-limit"),
  "stocklot:token": namedChannel("stocklot:token"),
  "stocklot:waiting": namedChannel("stocklot:waiting"),
  "stocklot:slot": namedChannel("stocklot:slot"),
  "stocklot:attempt": namedChannel("stocklot:attempt"),
  "stocklot:outbox:progress": namedChannel("stocklot:outbox:progress"),
  "stocklot:mirror:run": namedChannel("stocklot:mirror:run"),
};

/** Publishes a message, redacted. It is only created if the channel has subscribers. */
export function publishMessage<Name extends ChannelName>(
  name: Name,
  createMessage: () => DiagnosticsMessages[Name],
): void {
  if (CHANNELS[name].hasSubscribers) CHANNELS[name].publish(redactData(createMessage()));
}

/** Calls a listener with each message. Returns a function that stops it. */
export function subscribeToChannel<Name extends ChannelName>(
  name: Name,
  listener: (message: DiagnosticsMessages[Name]) => void,
): () => void {
  // node:diagnostics_channel does not type its messages; only this package publishes on its channels.
  const receive = (message: unknown) => listener(message as DiagnosticsMessages[Name]);
  diagnosticsChannel?.subscribe(name, receive);
  return () => void diagnosticsChannel?.unsubscribe(name, receive);
}

const AsyncLocalStorage = asyncHooks?.AsyncLocalStorage;

/** Runs a function in another async context, and returns its result. */
export type RunInContext = <T>(run: () => T) => T;

/**
 * Captures the async context of the caller, by which tracing finds the caller's span. Without a subscriber nothing is
 * captured.
 */
export function captureContext(): RunInContext {
  const isObserved = CHANNELS["stocklot:request"].hasSubscribers;
  return isObserved && AsyncLocalStorage ? AsyncLocalStorage.snapshot() : (run) => run();
}
