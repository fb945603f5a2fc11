import type { InputRequiredResult, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { uncheckedAs } from "../client/for-add-ons.js";
import type { Outbox } from "../outbox/for-rooms.js";
import { afterOtherCalls, bookOnce, findKnown, type Known, LostFromView, refuse } from "../outbox/for-rooms.js";
import type { OutboxEntry } from "../outbox/index.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { type Answer, canAsk, Questions, type Wanted } from "./question.js";
import { entrySchema, keySchema, type Room, TIMES } from "./room.js";
import { addTool, type Call, CallError } from "./tool.js";
import { isRefused, shownEntry } from "./writes.js";

/*
 * A write is booked once, whatever an assistant does:
 *
 *   key known      nothing is booked. With the same operation and input, its entry is the result; with others, an error
 *   item blocked   an error: an earlier write of the item has no known outcome
 *   otherwise      the person is asked; the answer counts for what was shown. Refused: the key is stored, and stays refused
 *   accepted       the outbox decides again while nobody else sends, adds the entry and sends it (outbox/for-rooms.ts)
 */

const FIELDS = {
  receive:
    "itemID, units, wid, reasonCode; optional spot, serial, serial2, rfidTag, reference, remark, netWeight, grossWeight, price, expires, supplier, line, jobid",
  move: "itemID, units, wid, and toSpot or shipToWid; optional fromSpot, transitSlip, recno, received, serial, serial2, rfidTag, reference",
  issue:
    "itemID, units, wid, reasonCode; optional spot, recno, remark, shipto, prodID, line, serial, serial2, rfidTag, reference, netWeight",
};

const outputSchema = z.object({
  outcome: z
    .enum(["added", "known", "refused", "not-booked"])
    .describe("added: this call added the entry, whose state says what became of it; known: the key was used before"),
  reason: z.string().optional().describe("why nothing was booked"),
  entry: entrySchema.optional().describe("the entry; if not-booked, an equal one under another key"),
  next: z.string(),
});

export function addBook(server: McpServer, room: Room, outbox: Outbox): void {
  const { bookMs } = { ...TIMES, ...room.times };
  const questions = new Questions(bookMs);
  const [first = "receive", ...others] = room.operations;
  const fields = room.operations.map((operation) => `${operation}: ${FIELDS[operation]}`).join(". ");
  addTool(server, room, "book", {
    description:
      "Books one transaction, once. Choose a key for each transaction and use the same key whenever you call again: then nothing is booked twice. " +
      `${room.confirms ? "A person is asked first. " : ""}Fields of input: ${fields}.`,
    input: z.strictObject({
      key: keySchema.describe("your own name of this transaction, the same in every repetition"),
      operation: z.enum([first, ...others]),
      input: z.record(z.string(), z.unknown()),
    }),
    output: outputSchema,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    isLong: true,
    async work(given, call) {
      // The outbox checks it.
      const wanted = uncheckedAs<Wanted>(given);
      room.client();
      let known = await findKnown(outbox, wanted);
      if (known.is !== "new" && known.isOfCall) {
        await afterOtherCalls(outbox, call.signal);
        known = await findKnown(outbox, wanted);
      }
      if (known.is !== "new") return describeKnown(known.is, known.entry, wanted, room);
      const answer = await decide(wanted, known.equals, call);
      if ("resultType" in answer) return answer;
      if (answer.is === "refused") return describeKnown("stored", await refuse(outbox, wanted), wanted, room);
      const [equal] = known.equals;
      if (answer.is === "once" && equal) return describeEqual(equal, room);
      if (answer.is !== "accepted") return NOT_ANSWERED;
      return book(wanted, answer.besides, call);
    },
  });

  /** What a person says, or has said with this call. */
  async function decide(
    wanted: Wanted,
    equals: readonly OutboxEntry[],
    call: Call,
  ): Promise<Answer | InputRequiredResult> {
    const given = questions.take(call.context, wanted);
    if (given) return given;
    if (!room.confirms && equals.length === 0) return { is: "accepted", besides: [] };
    if (canAsk(server, call.context)) return questions.ask(room, wanted, equals, call);
    if (equals.length > 0) return { is: "once" };
    throw new CallError(
      "this client cannot ask a person (elicitation), and nothing is booked without. Nothing was booked.",
      "tell the person to use a client that can, or to start the server with --confirm never.",
    );
  }

  async function book(wanted: Wanted, besides: readonly string[], { signal }: Call) {
    const booked = await bookOnce(outbox, wanted, { signal, until: monotonicNowMs() + bookMs, besides }).catch(
      (error: unknown) => {
        if (!(error instanceof LostFromView)) throw error;
        throw new CallError(error.message, "do not book it again: call get_write with the same key.", "unknown");
      },
    );
    if (booked.is === "equal") return describeEqual(booked.entry, room);
    if (booked.is !== "booked") return describeKnown(booked.is, booked.entry, wanted, room);
    const entry = shownEntry(booked.entry, room);
    return { outcome: "added", entry, next: entry.next };
  }
}

const NOT_ANSWERED = {
  outcome: "not-booked",
  reason: "The person has not answered the question.",
  next: "call book again with the same key if the person wants it.",
};

function describeKnown(is: Exclude<Known["is"], "new">, entry: OutboxEntry, wanted: Wanted, room: Room) {
  const shown = shownEntry(entry, room);
  if (is === "stored") return { outcome: isRefused(entry) ? "refused" : "known", entry: shown, next: shown.next };
  if (is === "blocked")
    throw new CallError(
      `the entry ${JSON.stringify(entry.key)} of this item is ${entry.state}, and has to be decided first. Nothing was booked.`,
      entry.state === "unknown" ? String(shown.next) : "call book again in a minute, with the same key.",
    );
  const both = [entry, wanted].map(({ operation, input }) => JSON.stringify({ operation, input }));
  throw new CallError(
    `the key ${JSON.stringify(entry.key)} was used for ${both[0]} (${entry.state}), and now for ${both[1]}. Nothing was booked now.`,
    "if it is another transaction, use another key; otherwise repeat the first input.",
  );
}

const describeEqual = (entry: OutboxEntry, room: Room) => ({
  outcome: "not-booked",
  reason: `The same operation and input was added under the key ${JSON.stringify(entry.key)} in the last 24 hours, and is ${entry.state}. Nothing was booked now.`,
  entry: shownEntry(entry, room),
  next: "if it is the same transaction, nothing: use that key. If it is to be booked once more, a person must allow it.",
});
