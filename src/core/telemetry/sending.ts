import { redactFields } from "../../errors/redaction/redact.js";
import { describeHeaderProblem } from "../request/options.js";
import { CHANNELS } from "./channels.js";
import type { DiagnosticsMessages, RequestEvent } from "./events.js";

/** Sends an attempt as the subscribers of `stocklot:attempt` specify: with their headers, and in their async context. */
export function sendWithInstrumentation<T>(
  event: () => RequestEvent,
  headers: Record<string, string>,
  send: () => Promise<T>,
): Promise<T> {
  const attempts = CHANNELS["stocklot:attempt"];
  if (!attempts.hasSubscribers) return send();
  let result: Promise<T> | undefined;
  let sendOnce = () => {
    result ??= send();
  };
  const message: DiagnosticsMessages["stocklot:attempt"] = {
    type: "sending",
    ...redactFields(event()),
    setHeader(name, value) {
      const key = name.toLowerCase();
      if (!Object.hasOwn(headers, key) && describeHeaderProblem(key, value) === undefined) headers[key] = value;
    },
    sendWithin(run) {
      const inner = sendOnce;
      sendOnce = () => run(inner);
    },
  };
  attempts.publish(message);
  try {
    sendOnce();
  } catch {
    // An instrumentation must not fail a call: it is sent outside its context.
  }
  return result ?? send();
}
