import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { type Outbox, type OutboxEntry, type OutboxState, withoutMark } from "../outbox/index.js";
import { castUnchecked, fieldOf } from "../shared/unknown.js";
import type { ServerParts } from "./parts.js";
import { addTool, CallError, isoTime, READ_ONLY, record } from "./tool.js";

export const keyArgument = z.string().min(1).max(200);

/** What an assistant does next, by the state of an entry. */
const NEXT_STEPS: Readonly<Record<OutboxState, (entry: OutboxEntry, advice: ServerParts["advice"]) => string>> = {
  pending: ({ key }, { show }) =>
    `nothing was applied yet. Call get_write in a minute; if it is still pending then, a person may look at it: ${show(key)}`,
  sending: () =>
    "its outcome is not known yet; the server looks it up. Do not book it again; call get_write in a minute.",
  applied: () => "nothing: it was booked once.",
  rejected: () => "the service refused it, and nothing was booked. Correct the input and use a new key.",
  unknown: ({ key }, { resolve }) =>
    `it may have been booked, and nobody can prove it. Do not book it again: a person decides, with ${resolve(key, "applied")} or ${resolve(key, "not-applied")} (then it is not sent: book it under a new key).`,
  canceled: (entry) =>
    isRefusedByPerson(entry)
      ? "a person refused it; it was not and will not be booked. Do not ask again."
      : "it was not sent, and never will be. Use a new key if it is still wanted.",
};

const stateSchema = z.enum(castUnchecked<OutboxState[]>(Object.keys(NEXT_STEPS)));

export const shownEntrySchema = record({
  ...{ key: z.string(), operation: z.string(), state: stateSchema },
  ...{ addedAt: z.string(), attempts: z.int(), next: z.string().describe("what to do next") },
});

/** Returns an entry as the assistant gave it: without the mark of the outbox in its remark. */
export function givenOf(entry: OutboxEntry): OutboxEntry {
  const remark = fieldOf(entry.input, "remark");
  if (typeof remark !== "string") return entry;
  const { remark: _, ...input }: Record<string, unknown> = { ...Object(entry.input) };
  const given = withoutMark(remark);
  return { ...entry, input: given === "" ? input : { ...input, remark: given } };
}

export function shownEntry(entry: OutboxEntry, { advice }: ServerParts) {
  const { addedAt, sentAt, settledAt, ...rest } = givenOf(entry);
  const iso = (ms: number | undefined) => (ms === undefined ? undefined : isoTime(ms));
  const times = { addedAt: iso(addedAt), sentAt: iso(sentAt), settledAt: iso(settledAt) };
  return { ...rest, ...times, next: NEXT_STEPS[entry.state](entry, advice) };
}

export const isRefusedByPerson = ({ error }: OutboxEntry) => fieldOf(error, "name") === "Refused";

const annotations = { ...READ_ONLY, openWorldHint: false };

export function addWriteTools(server: McpServer, parts: ServerParts, outbox: Outbox): void {
  addTool(server, parts, "get_write", {
    description: "One write by its key: its state, its result or error, and what to do next.",
    input: z.strictObject({ key: keyArgument }),
    output: z.object({ entry: shownEntrySchema }),
    annotations,
    async work({ key }) {
      const entry = await outbox.get(key);
      if (entry) return { entry: shownEntry(entry, parts) };
      throw new CallError(`there is no write with the key ${JSON.stringify(key)}.`, "call list_writes for the keys.");
    },
  });
  addTool(server, parts, "list_writes", {
    description: "The latest writes, newest first, and how many there are in each state.",
    input: z.strictObject({ state: stateSchema.optional(), limit: z.int().min(1).max(100).default(20) }),
    output: z.object({
      entries: z.array(shownEntrySchema),
      counts: z.record(z.string(), z.number()),
      more: z.boolean(),
    }),
    annotations,
    async work({ state, limit }, { signal }) {
      const latest: OutboxEntry[] = [];
      let more = false;
      for await (const entry of outbox.entries({ state })) {
        signal.throwIfAborted();
        latest.push(entry);
        if (latest.length > limit) more = latest.shift() !== undefined;
      }
      const { oldestUnsettledMs: _, ...counts } = await outbox.summary();
      return { entries: latest.reverse().map((entry) => shownEntry(entry, parts)), counts, more };
    },
  });
}
