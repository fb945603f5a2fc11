import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Booked, SingleWrites } from "../outbox/for-rooms.js";
import { WRITES } from "../service/operations.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { castUnchecked } from "../shared/unknown.js";
import { type Booking, clientOf, type ServerParts } from "./parts.js";
import { Questions, type WantedWrite } from "./question.js";
import { addTool, CallError, MAX_TEXT_LENGTH, type ToolCall } from "./tool.js";
import { givenOf, isRefusedByPerson, keyArgument, shownEntry, shownEntrySchema } from "./writes.js";

/*
 * A write is booked once, whatever an assistant does:
 *
 *   the key is known      nothing is booked. The result is the entry, or an error if operation or input differ
 *   the item is blocked   an error: an earlier write of the item has no known outcome
 *   otherwise             the person is asked. The answer counts only for what was shown
 *     refused             the refusal is stored under the key, and stays
 *     accepted            while nobody else sends, the outbox checks all this again, adds the entry and sends it
 */

const outputSchema = z.object({
  outcome: z
    .enum(["added", "known", "refused", "not-booked"])
    .describe("added: this call added the entry, whose state says what became of it; known: the key was used before"),
  reason: z.string().optional().describe("why nothing was booked"),
  entry: shownEntrySchema.optional().describe("the entry; if not-booked, an equal one under another key"),
  next: z.string(),
});

const isShort = (input: object) => JSON.stringify(input).length <= MAX_TEXT_LENGTH;

export function addBookTool(server: McpServer, parts: ServerParts, writes: SingleWrites): void {
  const questions = new Questions(server, parts);
  const [first = "receive", ...others] = parts.operations;
  /** The end of the last call for each key. Calls with the same key run one by one: a person is asked only once. */
  const turns = new Map<string, Promise<void>>();
  addTool(server, parts, "book", {
    description:
      "Books one transaction, once. Choose a key for each transaction and use the same key whenever you call again: then nothing is booked twice. " +
      `${parts.confirms ? "A person is asked first. " : ""}Fields of input, optional ones in brackets: ${parts.operations.map(fieldNamesOf).join(". ")}.`,
    input: z.strictObject({
      key: keyArgument.describe("your own name of this transaction, the same in every repetition"),
      operation: z.enum([first, ...others]),
      input: z
        .record(z.string(), z.unknown())
        .refine(isShort, `must not be longer than ${MAX_TEXT_LENGTH} characters as JSON`),
    }),
    output: outputSchema,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    isLong: true,
    async work(given, call) {
      // The outbox validates the entry.
      const wanted = castUnchecked<WantedWrite>(given);
      clientOf(parts);
      const { key } = wanted;
      const result = Promise.resolve(turns.get(key)).then(() => book(wanted, call));
      const turn = result.then(noop, noop);
      turns.set(key, turn);
      turn.then(() => turns.get(key) === turn && turns.delete(key));
      return result;
    },
  });

  async function book(wanted: WantedWrite, call: ToolCall) {
    call.signal.throwIfAborted();
    const known = await writes.find(wanted, call.signal);
    if (known.is !== "new") return describe(known, wanted, parts);
    const answer = await questions.answerTo(wanted, known.equals, call);
    if ("resultType" in answer) return answer;
    const [equal] = known.equals;
    if (answer.is === "once" && equal) return describe({ is: "equal", entry: equal }, wanted, parts);
    if (answer.is === "refused") return describe({ is: "stored", entry: await writes.decline(wanted) }, wanted, parts);
    if (answer.is !== "accepted") return NOT_ANSWERED;
    const until = monotonicNowMs() + parts.times.bookMs;
    return describe(await writes.book(wanted, { ...answer, signal: call.signal, until }), wanted, parts);
  }
}

/** Returns the field names of an input, optional fields in brackets. */
function fieldNamesOf(operation: Booking): string {
  const fields = Object.entries<z.ZodType>(WRITES[operation].input().shape);
  const names = fields.map(([name, field]) => (field.safeParse(undefined).success ? `[${name}]` : name));
  return `${operation}: ${names.join(", ")}${operation === "move" ? " (with toSpot or shipToWid)" : ""}`;
}

const noop = () => {};

const NOT_ANSWERED = {
  outcome: "not-booked",
  reason: "The person has not answered the question.",
  next: "call book again with the same key if the person wants it.",
};

function describe({ is, entry }: Booked, wanted: WantedWrite, parts: ServerParts) {
  const shown = shownEntry(entry, parts);
  const { next } = shown;
  switch (is) {
    case "booked":
      return { outcome: "added", entry: shown, next };
    case "stored":
      return { outcome: isRefusedByPerson(entry) ? "refused" : "known", entry: shown, next };
    case "equal":
      return {
        outcome: "not-booked",
        reason: `The same operation and input was added under the key ${JSON.stringify(entry.key)} in the last 24 hours, and is ${entry.state}. Nothing was booked now.`,
        entry: shown,
        next: "if it is the same transaction, use that key. If it is to be booked once more, a person must allow it.",
      };
    case "blocked":
      throw new CallError(
        `the entry ${JSON.stringify(entry.key)} of this item is ${entry.state}, and has to be decided first. Nothing was booked.`,
        entry.state === "unknown" ? next : "call book again in a minute, with the same key.",
      );
    case "other-input": {
      const [before, now] = [givenOf(entry), wanted].map(({ operation, input }) =>
        JSON.stringify({ operation, input }),
      );
      throw new CallError(
        `the key ${JSON.stringify(entry.key)} was used for ${before} (${entry.state}), and now for ${now}. Nothing was booked now.`,
        "if it is another transaction, use another key; otherwise repeat the first input.",
      );
    }
  }
}
