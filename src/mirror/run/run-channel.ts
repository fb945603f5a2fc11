import { channel } from "node:diagnostics_channel";
import type { MirrorRunKind } from "../report.js";
import type { MirrorResource } from "../tables.js";

/** What the channel `stocklot:mirror:run` of `node:diagnostics_channel` carries when a run of a mirror has ended. */
export interface MirrorRunMessage {
  /** `full` if any list was read completely. */
  kind: MirrorRunKind;
  /** Time taken, in ms. */
  durationMs: number;
  /** The name of the error that the run ended with, such as `TimeoutError`; missing after a success. */
  error?: string;
  /** The copy after the run, per resource; empty if it could not be opened. */
  resources: Partial<Record<MirrorResource, { records: number; lagMs: number | null }>>;
}

const mirrorRunChannel = channel("stocklot:mirror:run");

/** Publishes the end of a run. */
export function publishMirrorRun(message: MirrorRunMessage): void {
  if (mirrorRunChannel.hasSubscribers) mirrorRunChannel.publish(message);
}
