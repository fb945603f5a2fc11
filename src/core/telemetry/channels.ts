import { redactData } from "../../errors/redaction/redact.js";
import type { DiagnosticsMessages } from "./events.js";

export type ChannelName = keyof DiagnosticsMessages;

/** As much of a channel as is needed to publish. */
interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

/** Not imported, since some runtimes lack the module; there, nothing is published. */
const diagnostics = globalThis.process?.getBuiltinModule?.("node:diagnostics_channel");

export const hasDiagnosticsChannels = diagnostics !== undefined;

const NO_CHANNEL: Channel = { hasSubscribers: false, publish: () => {} };

/** A channel of the process; that of other packages, too. */
export const channel = (name: string): Channel => diagnostics?.channel(name) ?? NO_CHANNEL;

const named = (name: ChannelName) => channel(name);

export const CHANNELS: Readonly<Record<ChannelName, Channel>> = {
  "stocklot:request": named("stocklot:request"),
  "stocklot:retry": named("stocklot:retry"),
  "stocklot:rate-limit": named("stocklot:rate-limit"),
  "stocklot:token": named("stocklot:token"),
  "stocklot:waiting": named("stocklot:waiting"),
  "stocklot:slot": named("stocklot:slot"),
  "stocklot:attempt": named("stocklot:attempt"),
  "stocklot:outbox:progress": named("stocklot:outbox:progress"),
  "stocklot:mirror:run": named("stocklot:mirror:run"),
};

/** Publishes a message, redacted. It is only created if the channel has subscribers. */
export function publish<Name extends ChannelName>(name: Name, createMessage: () => DiagnosticsMessages[Name]): void {
  if (CHANNELS[name].hasSubscribers) CHANNELS[name].publish(redactData(createMessage()));
}

/** Calls a listener with each message. Returns a function that stops it. */
export function subscribe<Name extends ChannelName>(
  name: Name,
  listener: (message: DiagnosticsMessages[Name]) => void,
): () => void {
  // node:diagnostics_channel does not type its messages; only this package publishes on its channels.
  const receive = (message: unknown) => listener(message as DiagnosticsMessages[Name]);
  diagnostics?.subscribe(name, receive);
  return () => void diagnostics?.unsubscribe(name, receive);
}
