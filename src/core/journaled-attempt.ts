import type { SlotGrant } from "./acquire-slot.js";
import { type AttemptDeps, sendAttempt } from "./attempt.js";
import type { Call } from "./call.js";
import { ErrorResponse, FalseSuccess } from "./failure.js";
import type { AttemptEnd, AttemptJournal } from "./request/attempt-journal.js";
import { mayFailedAttemptBeApplied } from "./response/caller-error.js";
import type { WireResponse } from "./transport/transport.js";

/** Sends the request of a call once, and records that in the call's journal. */
export async function journaledAttempt(
  deps: AttemptDeps,
  call: Call,
  grant: SlotGrant,
  journal: AttemptJournal,
): Promise<WireResponse> {
  try {
    await call.cancellation.race(journal.beforeSend(deps.serviceClock.offset));
  } catch (failure) {
    grant.slot.endUnsent();
    throw failure;
  }
  try {
    const response = await sendAttempt(deps, call, grant);
    journal.attemptEnded({ response, mayHaveBeenApplied: true });
    return response;
  } catch (failure) {
    journal.attemptEnded(endOf(call, failure));
    throw failure;
  }
}

function endOf(call: Call, failure: unknown): AttemptEnd {
  // The status of a false success proves nothing.
  const head = failure instanceof FalseSuccess ? undefined : call.attemptTrace?.head;
  const { status, body } =
    failure instanceof ErrorResponse ? failure.response : { status: head?.status, body: undefined };
  return {
    response: status === undefined ? undefined : { status, body },
    mayHaveBeenApplied: mayFailedAttemptBeApplied(call, failure),
  };
}
