import { admit, type Gate } from "./admit.js";
import type { Call } from "./call.js";
import { answeredAnyway, isSuccess, Refusal } from "./failure.js";
import type { Reporter } from "./reporter.js";
import { retryAfterMs } from "./retry-after.js";
import { pauseMs } from "./retry-policy.js";
import { type Transport, TransportFailure, type WireResponse } from "./transport.js";

/** What an attempt works with. */
export interface AttemptTools extends Gate {
  readonly transport: Transport;
  readonly reporter: Reporter;
  readonly maxResponseBytes: number;
}

/** Sends the request of a call once, when it is its turn. Rejects unless the answer is a success. */
export async function attempt(tools: AttemptTools, call: Call): Promise<WireResponse> {
  const { slot, token } = await admit(tools, call);
  let sent = true;
  call.inFlight = true;
  try {
    const response = await exchange(tools, call, token).catch((failure: unknown) => {
      sent = !(failure instanceof TransportFailure) || failure.sent;
      const answer = answeredAnyway(failure);
      if (answer) return answer;
      throw failure;
    });
    if (isSuccess(response.status)) return response;
    if (response.status === 401 && token !== undefined) tools.tokens.invalidate(token);
    throw new Refusal(response, response.status === 429 ? pause(tools, call, response) : undefined);
  } finally {
    call.inFlight = false;
    if (sent) slot.release();
    else slot.giveBack();
  }
}

async function exchange(tools: AttemptTools, call: Call, token: string | undefined): Promise<WireResponse> {
  const { method, path } = call.request;
  const { target, contentType, body } = call.payload;
  call.attempts += 1;
  call.sentAt = Date.now();
  call.response = undefined;
  const event = { method, path, attempt: call.attempts };
  tools.reporter.emit(
    "request",
    "debug",
    () => event,
    () => `${call.title} (attempt ${event.attempt})`,
  );
  const headers = { ...call.settings.headers };
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  try {
    const response = await tools.transport.send({
      method,
      target,
      headers,
      body,
      timeoutMs: call.settings.timeoutMs,
      maxResponseBytes: tools.maxResponseBytes,
      lifetime: call.lifetime,
    });
    call.response = { status: response.status, headers: response.headers };
    call.addTiming(response.timing);
    const durationMs = performance.now() - response.timing.startedAt;
    tools.reporter.emit(
      "response",
      "debug",
      () => ({ ...event, status: response.status, durationMs }),
      () => `${call.title}: ${response.status} after ${Math.round(durationMs)} ms`,
    );
    return response;
  } catch (failure) {
    if (failure instanceof TransportFailure) {
      call.response = failure.head;
      call.addTiming(failure.timing);
    }
    throw failure;
  }
}

/** Makes all calls of the limiter wait after a 429, and tells how long. During a pause it changes nothing. */
function pause({ limiter, reporter }: AttemptTools, call: Call, response: WireResponse): number {
  const asked = retryAfterMs(response.headers, Date.now());
  const delayMs = pauseMs(asked, call.settings.retry);
  const before = limiter.snapshot().pausedUntil;
  if (before !== null) return asked ?? before - Date.now();
  const { method, path } = call.request;
  reporter.emit(
    "rateLimited",
    "warn",
    () => ({ method, path, delayMs, pausedUntil: Date.now() + delayMs }),
    () => `${call.title}: 429, all requests pause for ${Math.round(delayMs / 1_000)} s`,
  );
  limiter.pause(delayMs);
  return delayMs;
}
