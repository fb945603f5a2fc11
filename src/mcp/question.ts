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
import { type Booking, clientOf, type ServerParts } from "./parts.js";
import { CallError, isoTime, type ToolCall } from "./tool.js";

const ANSWER = "answer";
const AGAIN = "bookAgain";
/** How many questions may be open at once. One more, and the oldest is dropped. */
const MAX_OPEN = 100;

export type WantedWrite = OutboxEntryInput & { operation: Booking };

/**
 * The answer of a person. `once`: an equal entry exists, and nobody has allowed a second one. `besides`: the keys of
 * equal entries besides which the person wants this entry, too.
 */
export type PersonsAnswer = { is: "accepted"; besides: readonly string[] } | { is: "refused" | "dismissed" | "once" };

/** Whether the client can show a form to a person. */
function canAsk(server: McpServer, { mcpReq }: ServerContext): boolean {
  // Newer revisions send the capabilities with each request, older revisions only when they connect.
  const capabilities = fieldOf(mcpReq.envelope, CLIENT_CAPABILITIES_META_KEY) ?? server.server.getClientCapabilities();
  const elicitation = fieldOf(capabilities, "elicitation");
  return isObject(elicitation) && (isObject(fieldOf(elicitation, "form")) || Object.keys(elicitation).length === 0);
}

/** The questions that wait for an answer. Each question is answered once. */
export class Questions {
  readonly #open = new Map<string, { wanted: string; equals: readonly string[]; until: number; untilEpoch: number }>();

  constructor(
    readonly server: McpServer,
    readonly parts: ServerParts,
  ) {}

  /**
   * Returns the person's answer about a write. A client of a newer revision first gets the question, and calls again
   * with the answer.
   *
   * @throws CallError if the answer belongs to another write, or if nobody can be asked.
   */
  async answerTo(
    wanted: WantedWrite,
    equals: readonly OutboxEntry[],
    call: ToolCall,
  ): Promise<PersonsAnswer | InputRequiredResult> {
    const { mcpReq } = call.context;
    const state: unknown = mcpReq.requestState();
    if (state !== undefined || mcpReq.inputResponses) return this.#judge(String(state), mcpReq.inputResponses, wanted);
    if (!this.parts.confirms && equals.length === 0) return { is: "accepted", besides: [] };
    if (canAsk(this.server, call.context)) return this.#ask(wanted, equals, call);
    if (equals.length > 0) return { is: "once" };
    throw new CallError(
      "this client cannot ask a person (elicitation), and nothing is booked without asking. Nothing was booked.",
      "tell the person to use a client that can, or to start the server with --confirm never.",
    );
  }

  /** Asks the person, with everything that would be booked. */
  async #ask(wanted: WantedWrite, equals: readonly OutboxEntry[], { context: { mcpReq }, signal }: ToolCall) {
    const message = await textOf(clientOf(this.parts), wanted, equals, signal);
    const { bookMs } = this.parts.times;
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
      // The call stays open meanwhile, so progress notifications tell the client that it waits.
      const answer = await mcpReq.elicitInput(form, { timeout: bookMs, signal });
      return this.#judge(requestState, { [ANSWER]: answer }, wanted);
    } finally {
      this.#open.delete(requestState);
    }
  }

  #judge(state: string, responses: Record<string, unknown> | undefined, wanted: WantedWrite): PersonsAnswer {
    const asked = this.#open.get(state);
    this.#open.delete(state);
    const wrong = (what: string) =>
      new CallError(`${what} Nothing was booked.`, "call book again, to ask the person again.");
    if (!asked) throw wrong("The answer belongs to no open question: each answer counts once.");
    if (monotonicNowMs() > asked.until || Date.now() > asked.untilEpoch) throw wrong("The answer came too late.");
    if (canonicalJson(wanted) !== asked.wanted)
      throw wrong("The question showed another key, operation or input than this call has.");
    const answer = inputResponse(responses, ANSWER);
    if (answer.kind !== "elicit") throw wrong("The call has no answer of a person.");
    if (answer.action === "decline") return { is: "refused" };
    if (answer.action !== "accept") return { is: "dismissed" };
    if (asked.equals.length > 0 && answer.content?.[AGAIN] !== true) return { is: "once" };
    return { is: "accepted", besides: asked.equals };
  }
}

/** Returns the question: everything that a person has to know. Texts of the service are quoted, one per line. */
async function textOf(
  { items, inventory }: InventoryClient,
  wanted: WantedWrite,
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

function stockChangesOf({ operation, input }: WantedWrite): Map<number, number> {
  const { wid, units } = input;
  const changes = new Map([[wid, operation === "receive" ? units : -units]]);
  const to = operation === "move" ? (input.shipToWid ?? wid) : undefined;
  return to === undefined ? changes : changes.set(to, (changes.get(to) ?? 0) + units);
}

const MAX_QUOTED_LENGTH = 500;

const quoted = (value: unknown) => redactCredentials(withoutControlCharacters(JSON.stringify(value) ?? ""));

const quotedStart = (value: unknown) => quoted(value).slice(0, MAX_QUOTED_LENGTH);
