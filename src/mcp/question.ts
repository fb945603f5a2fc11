import { randomUUID } from "node:crypto";
import {
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { OutboxEntry, OutboxEntryInput } from "../outbox/index.js";
import { canonicalJson } from "../shared/canonical-json.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { fieldOf, isObject, withoutControlCharacters } from "../shared/unknown.js";
import type { Booking, Room } from "./room.js";
import { type Call, CallError } from "./tool.js";

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const ANSWER = "answer";
const AGAIN = "bookAgain";
/** More questions than this are not open at once: the oldest is forgotten. */
const MAX_OPEN = 100;

/** A write that may be booked: one of those that were allowed. */
export type Wanted = OutboxEntryInput & { operation: Booking };

/** What a person has said. `besides`: keys of the equal entries beside which it is wanted. */
export type Answer = { is: "accepted"; besides: readonly string[] } | { is: "refused" | "dismissed" | "once" };

/** Whether the client can show a form to a person. */
export function canAsk(server: McpServer, { mcpReq }: ServerContext): boolean {
  // Each request of newer revisions has them; those of older ones come with the connection.
  const capabilities: unknown = fieldOf(mcpReq.envelope, CAPABILITIES) ?? server.server.getClientCapabilities();
  const elicitation = fieldOf(capabilities, "elicitation");
  if (!isObject(elicitation)) return false;
  return isObject(fieldOf(elicitation, "form")) || Object.keys(elicitation).length === 0;
}

/** Questions that were shown, and wait for an answer. Each is answered once. */
export class Questions {
  readonly #open = new Map<string, { wanted: string; equals: readonly string[]; until: number; untilEpoch: number }>();

  constructor(readonly ageMs: number) {}

  /** Asks a person. The question has everything that would be booked. Newer clients answer with another call. */
  async ask(
    room: Room,
    wanted: Wanted,
    equals: readonly OutboxEntry[],
    { context, signal }: Call,
  ): Promise<Answer | InputRequiredResult> {
    const message = await textOf(room, wanted, equals, signal);
    const requestState = randomUUID();
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= MAX_OPEN) this.#open.delete(oldest);
    this.#open.set(requestState, {
      wanted: canonicalJson(wanted),
      equals: equals.map(({ key }) => key),
      until: monotonicNowMs() + this.ageMs,
      untilEpoch: Date.now() + this.ageMs,
    });
    const again = {
      [AGAIN]: { type: "boolean", title: "Book it once more", default: false },
    } as const;
    const requestedSchema = { type: "object" as const, properties: equals.length > 0 ? again : {} };
    const form = { mode: "form", message, requestedSchema } as const;
    if (context.mcpReq.envelope !== undefined)
      return inputRequired({ inputRequests: { [ANSWER]: inputRequired.elicit(form) }, requestState });
    // The call goes on meanwhile, so that its client learns that it waits.
    const answer = await context.mcpReq.elicitInput(form, { timeout: this.ageMs, signal });
    return this.#judge(requestState, { [ANSWER]: answer }, wanted);
  }

  /** The answer that a call carries; `undefined` if it carries none. @throws CallError if it is not that to this write. */
  take({ mcpReq }: ServerContext, wanted: Wanted): Answer | undefined {
    const state: unknown = mcpReq.requestState();
    if (state === undefined && mcpReq.inputResponses === undefined) return undefined;
    return this.#judge(String(state), mcpReq.inputResponses, wanted);
  }

  #judge(state: string, responses: Record<string, unknown> | undefined, wanted: Wanted): Answer {
    const asked = this.#open.get(state);
    this.#open.delete(state);
    const wrong = (what: string) =>
      new CallError(`${what} Nothing was booked.`, "call book again, to ask the person again.");
    if (!asked) throw wrong("The answer is to no open question: an answer counts once.");
    if (monotonicNowMs() > asked.until || Date.now() > asked.untilEpoch) throw wrong("The answer came too late.");
    if (canonicalJson(wanted) !== asked.wanted)
      throw wrong("The answer is to another key, operation or input than those given.");
    const answer = inputResponse(responses, ANSWER);
    if (answer.kind !== "elicit") throw wrong("There is no answer of a person.");
    if (answer.action === "decline") return { is: "refused" };
    if (answer.action !== "accept") return { is: "dismissed" };
    if (asked.equals.length > 0 && answer.content?.[AGAIN] !== true) return { is: "once" };
    return { is: "accepted", besides: asked.equals };
  }
}

/** Everything that a person has to know. Texts of the service are quoted, in lines of their own. */
async function textOf(
  room: Room,
  wanted: Wanted,
  equals: readonly OutboxEntry[],
  signal: AbortSignal,
): Promise<string> {
  const { operation, input, key } = wanted;
  const { wid, itemID, units } = input;
  const client = room.client();
  const item = await client.items.get(itemID, { signal });
  const level = await client.inventory.getStockLevel(itemID, { wid }, { signal });
  const before = level?.inStock ?? 0;
  const to = "shipToWid" in input ? input.shipToWid : undefined;
  const change =
    operation === "receive" ? units : operation === "move" && (to === undefined || to === wid) ? 0 : -units;
  const stockOf = (warehouse: number, from: number, by: number) =>
    `stock in warehouse ${warehouse}: ${from} before, ${Number((from + by).toPrecision(15))} after`;
  const lines = [
    `Book this ${operation}?`,
    ...Object.entries(input).map(([name, value]) => `${quoted(name).slice(1, -1)}: ${quoted(value)}`),
    `item: ${quoted(item.description).slice(0, MAX_DESCRIPTION_LENGTH)}, unit ${quoted(item.uOM)}${item.discontinued ? ", discontinued" : ""}`,
    stockOf(wid, before, change),
  ];
  if (operation === "move" && to !== undefined && to !== wid) {
    const other = await client.inventory.getStockLevel(itemID, { wid: to }, { signal });
    lines.push(stockOf(to, other?.inStock ?? 0, units));
  }
  lines.push(`key: ${quoted(key)}`);
  for (const equal of equals)
    lines.push(
      `ATTENTION: the same was added at ${new Date(equal.addedAt).toISOString()} under the key ${quoted(equal.key)}; it is ${equal.state}. Tick the box only if it is to be booked once more.`,
    );
  return lines.join("\n");
}

const MAX_DESCRIPTION_LENGTH = 500;

const quoted = (value: unknown) => withoutControlCharacters(JSON.stringify(value) ?? "");
