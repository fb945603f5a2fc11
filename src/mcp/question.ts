import { randomUUID } from "node:crypto";
import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { InventoryClient } from "../client/index.js";
import type { OutboxEntry, OutboxEntryInput } from "../outbox/index.js";
import { canonicalJson } from "../shared/canonical-json.js";
import { redactCredentials } from "../shared/errors/redact.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { fieldOf, isObject, withoutControlCharacters } from "../shared/unknown.js";
import { type Booking, clientOf, type Room } from "./room.js";
import { type Call, CallError, isoTime } from "./tool.js";

const ANSWER = "answer";
const AGAIN = "bookAgain";
/** More questions than this are not open at once: the oldest is forgotten. */
const MAX_OPEN = 100;

/** A write that may be booked: one of those that were allowed. */
export type Wanted = OutboxEntryInput & { operation: Booking };

/** The answer of a person. `besides`: keys of equal entries that exist, although the person wants this one, too. */
export type PersonsAnswer = { is: "accepted"; besides: readonly string[] } | { is: "refused" | "dismissed" | "once" };

/** Whether the client can show a form to a person. */
function canAsk(server: McpServer, { mcpReq }: ServerContext): boolean {
  // Each request of newer revisions has them; those of older ones come with the connection.
  const capabilities = fieldOf(mcpReq.envelope, CLIENT_CAPABILITIES_META_KEY) ?? server.server.getClientCapabilities();
  const elicitation = fieldOf(capabilities, "elicitation");
  return isObject(elicitation) && (isObject(fieldOf(elicitation, "form")) || Object.keys(elicitation).length === 0);
}

/** Questions that were shown, and wait for an answer. Each is answered once. */
export class Questions {
  readonly #open = new Map<string, { wanted: string; equals: readonly string[]; until: number; untilEpoch: number }>();

  constructor(
    readonly server: McpServer,
    readonly room: Room,
  ) {}

  /**
   * Returns what a person says about a write, or has said with this call. Newer clients answer a question with another call.
   *
   * @throws CallError if the answer is not to this write, or nobody can be asked.
   */
  async answerTo(
    wanted: Wanted,
    equals: readonly OutboxEntry[],
    call: Call,
  ): Promise<PersonsAnswer | InputRequiredResult> {
    const { mcpReq } = call.context;
    const state: unknown = mcpReq.requestState();
    if (state !== undefined || mcpReq.inputResponses) return this.#judge(String(state), mcpReq.inputResponses, wanted);
    if (!this.room.confirms && equals.length === 0) return { is: "accepted", besides: [] };
    if (canAsk(this.server, call.context)) return this.#ask(wanted, equals, call);
    if (equals.length > 0) return { is: "once" };
    throw new CallError(
      "this client cannot ask a person (elicitation), and nothing is booked without. Nothing was booked.",
      "tell the person to use a client that can, or to start the server with --confirm never.",
    );
  }

  /** The question has everything that would be booked. */
  async #ask(wanted: Wanted, equals: readonly OutboxEntry[], { context: { mcpReq }, signal }: Call) {
    const message = await textOf(clientOf(this.room), wanted, equals, signal);
    const { bookMs } = this.room.times;
    const requestState = randomUUID();
    const [oldest = ""] = this.#open.keys();
    if (this.#open.size >= MAX_OPEN) this.#open.delete(oldest);
    this.#open.set(requestState, {
      wanted: canonicalJson(wanted),
      equals: equals.map(({ key }) => key),
      until: monotonicNowMs() + bookMs,
      untilEpoch: Date.now() + bookMs,
    });
    const again = { [AGAIN]: { type: "boolean", title: "Book it once more", default: false } } as const;
    const requestedSchema = { type: "object" as const, properties: equals.length > 0 ? again : {} };
    const form = { mode: "form", message, requestedSchema } as const;
    if (mcpReq.envelope !== undefined)
      return inputRequired({ inputRequests: { [ANSWER]: inputRequired.elicit(form) }, requestState });
    try {
      // The call goes on meanwhile, so that its client learns that it waits.
      const answer = await mcpReq.elicitInput(form, { timeout: bookMs, signal });
      return this.#judge(requestState, { [ANSWER]: answer }, wanted);
    } finally {
      this.#open.delete(requestState);
    }
  }

  #judge(state: string, responses: Record<string, unknown> | undefined, wanted: Wanted): PersonsAnswer {
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
  { items, inventory }: InventoryClient,
  wanted: Wanted,
  equals: readonly OutboxEntry[],
  signal: AbortSignal,
): Promise<string> {
  const { operation, input, key } = wanted;
  const { description, uOM, discontinued } = await items.get(input.itemID, { signal });
  const lines = [
    `Book this ${operation}?`,
    ...Object.entries(input).map(([name, value]) => `${quoted(name).slice(1, -1)}: ${quoted(value)}`),
    `item: ${quotedStart(description)}, unit ${quotedStart(uOM)}${discontinued ? ", discontinued" : ""}`,
  ];
  for (const [wid, change] of stockChangesOf(wanted)) {
    const before = (await inventory.getStockLevel(input.itemID, { wid }, { signal }))?.inStock ?? 0;
    lines.push(`stock in warehouse ${wid}: ${before} before, ${Number((before + change).toPrecision(15))} after`);
  }
  lines.push(`key: ${quoted(key)}`);
  for (const equal of equals)
    lines.push(
      `ATTENTION: the same was added at ${isoTime(equal.addedAt)} under the key ${quoted(equal.key)}; it is ${equal.state}. Tick the box only if it is to be booked once more.`,
    );
  return lines.join("\n");
}

/** Returns by how much a write changes the stock, by warehouse. */
function stockChangesOf({ operation, input }: Wanted): Map<number, number> {
  const { wid, units } = input;
  const changes = new Map([[wid, operation === "receive" ? units : -units]]);
  const to = operation === "move" ? (input.shipToWid ?? wid) : undefined;
  return to === undefined ? changes : changes.set(to, (changes.get(to) ?? 0) + units);
}

const MAX_QUOTED_LENGTH = 500;

const quoted = (value: unknown) => redactCredentials(withoutControlCharacters(JSON.stringify(value) ?? ""));

const quotedStart = (value: unknown) => quoted(value).slice(0, MAX_QUOTED_LENGTH);
