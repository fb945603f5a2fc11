import { createHash } from "node:crypto";
import { judgeReceipt } from "../../../src/client/find/judge-receipt.js";
import type { LookedUpReceipt } from "../../../src/client/find/receipt-lookup.js";
import {
  ConflictError,
  type InventoryClient,
  type Lot,
  NotFoundError,
  OutcomeUnknownError,
  type RequestOptions,
} from "../../../src/index.js";
import { markedEntry, newEntry, type StoredEntry } from "../../../src/outbox/entry.js";
import { runEntries, runItem } from "../../../src/outbox/run.js";
import { type SenderSettings, SendingPeriod } from "../../../src/outbox/sending-period.js";
import type { OpenStore } from "../../../src/outbox/store.js";
import { markAsServiceError } from "../../../src/shared/errors/service-error.js";
import { InFlight } from "../../../src/storage/database.js";
import { FailuresInARow } from "../../../src/writes/failures-in-a-row.js";
import { newLot } from "../../support/records.js";
import { type Planted, type Rows, storeMethods } from "./fake-store.js";

/*
 * A model of two processes that run one outbox, of a database, a service and time. Only one step happens at a time, and the
 * exploration chooses it. Code that needs no step runs between two steps.
 *
 *   db        a command of a process
 *   reply     the result of a command that changes something or reads entries. Between command and reply, the process may crash,
 *             stall, or lose the connection (`unheard`). Then the command has had its effect, but the process does not know
 *   send      the first byte of a request: the last moment at which the process can decide not to send it
 *   arrive    a request takes effect
 *   respond   a response arrives
 *   crash, stall, resume   a process crashes, stalls or resumes at any moment. While it is stalled, its timers do not fire
 *   lose-before, lose-after, late   instead of `arrive`: the response is lost. The request has no effect, has its effect now, or
 *             has it at the last moment that `settleMs` allows
 *   time      the next timer fires, because nothing else can happen
 */

const { setTimeout: realSetTimeout, clearTimeout: realClearTimeout } = globalThis;
const realNow = performance.now;
const realDate = Date.now;

const SETTLE_MS = 20;
const LEASE_MS = 40;
const TIMEOUT_MS = 18;
const STORE_ID = "store";
/** The number of microtask turns between two steps. No chain of promises needs more. */
const TURNS = 40;

/** How many of each fault may still happen. */
export interface Faults {
  crash: number;
  lost: number;
  late: number;
  stall: number;
  /** Replies of the database that are lost. */
  unheard: number;
  /** The faults of all kinds together. */
  all: number;
}

interface Step {
  name: string;
  process: number;
  /** Whether no other process can observe the step, so that its order relative to other steps makes no difference. */
  isInvisible(): boolean;
  /** Set if the step is a reply of the database. No other process can observe it either, but a fault may come before it. */
  reply?: { lose(): void };
  act(): void;
}

interface Timer {
  due: number;
  process: number;
  callback: () => void;
}

interface Process {
  state: "running" | "stalled" | "crashed" | "done";
  /** What the process has observed. This determines what it does next. */
  history: string[];
  steps: Step[];
}

export interface EntrySpec {
  operation: StoredEntry["operation"];
  item: string;
  /** The only sender that may send the entry. */
  boundTo?: string;
}

export interface ExploreOptions {
  specs: readonly EntrySpec[];
  faults: Faults;
  planted?: Planted;
  /** Entries that the first process adds, and that only it may send, as in an apply. */
  bound?: readonly EntrySpec[];
  leaseMs?: number;
  /** @default 1 */
  concurrency?: number;
  settleMs?: number;
}

export class World {
  readonly rows: Rows;
  readonly effects: { key: string; item: string; process: number }[] = [];
  readonly #items = new Map<string, { description: string; created: string }>();
  readonly #lots: (Pick<Lot, "recNo" | "remark" | "received"> & { item: string })[] = [];
  readonly #processes: Process[] = [];
  readonly #planted: Planted;
  #network: Step[] = [];
  #timers: Timer[] = [];
  #now = 1_000_000;
  #current = 0;
  #faults: Faults;
  readonly late: string[] = [];

  constructor(
    specs: readonly EntrySpec[],
    faults: Faults,
    {
      planted = {},
      concurrency = 1,
      settleMs = SETTLE_MS,
      leaseMs = LEASE_MS,
      bound = [],
    }: Omit<ExploreOptions, "specs" | "faults"> = {},
  ) {
    this.#leaseMs = leaseMs;
    this.#bound = entriesOf(bound, specs.length);
    this.#concurrency = concurrency;
    this.#settleMs = settleMs;
    this.#faults = { ...faults };
    this.#planted = planted;
    const entries = entriesOf(specs, 0);
    for (const { item, operation } of specs)
      if (operation === "update") this.#items.set(item, { description: "before", created: "2020-01-01" });
    this.rows = { entries, sender: { sender: "", beat: 0, leaseMs: 0, settleMs: 0 } };
    Object.assign(globalThis, {
      setTimeout: (callback: () => void, delayMs: number) => {
        const timer = { due: this.#now + Math.max(0, delayMs), process: this.#current, callback };
        this.#timers.push(timer);
        return timer;
      },
      clearTimeout: (timer: Timer) => {
        this.#timers = this.#timers.filter((one) => one !== timer);
      },
    });
    performance.now = () => this.#now;
    Date.now = () => 1_700_000_000_000 + this.#now;
  }

  /** Restores the real timers and clocks. */
  dispose(): void {
    Object.assign(globalThis, { setTimeout: realSetTimeout, clearTimeout: realClearTimeout });
    performance.now = realNow;
    Date.now = realDate;
  }

  async start(): Promise<void> {
    const process: Process = { state: "running", history: [], steps: [] };
    const index = this.#processes.push(process) - 1;
    this.#current = index;
    const settings: SenderSettings = {
      client: this.#client(index) as never,
      store: this.#store(index),
      settleMs: this.#planted.decidesAtOnce ? 0 : this.#settleMs,
      leaseMs: this.#leaseMs,
      closed: new AbortController().signal,
      inFlight: new InFlight(),
    };
    const end = (what: string) => {
      if (process.state !== "crashed") process.state = "done";
      process.history.push(what);
    };
    const run = index === 0 && this.#bound.length > 0 ? this.#apply(settings) : this.#runOutbox(settings);
    run.then(
      () => end("ended"),
      (error: unknown) => {
        if (String(error).includes("may be applied twice")) this.late.push(String(error));
        end(String(error));
      },
    );
    await settle();
  }

  async #runOutbox(settings: SenderSettings): Promise<void> {
    await runEntries(settings, { concurrency: this.#concurrency });
  }

  /** Adds entries that only this process may send, and sends them, as the apply of a count does. */
  async #apply(settings: SenderSettings): Promise<void> {
    const failures = new FailuresInARow();
    await SendingPeriod.during(settings, { signal: undefined, isDone: async () => false }, async (period) => {
      await this.#step(0, "addBound", () => {
        this.rows.entries.push(...this.#bound.map((entry) => ({ ...entry, boundTo: period.lock.name })));
      });
      for (const lane of new Set(this.#bound.map((entry) => entry.lane)))
        await runItem(period, lane, { until: Infinity, failures });
      return true;
    });
  }

  /** Returns the steps that can happen next. */
  choices(): string[] {
    const ready = [
      ...this.#readyOf(this.#processes.map((_, index) => index)),
      ...this.#network.map(({ name }) => name),
    ];
    const { crash, lost, late, stall, unheard, all } = this.#faults;
    for (const [index, { steps }] of this.#processes.entries()) {
      const reply = this.#isRunning(index) ? steps.find((step) => step.reply) : undefined;
      if (!reply) continue;
      const choices = [reply.name];
      if (all > 0 && unheard > 0) choices.push(reply.name.replace("reply", "unheard"));
      if (all > 0 && crash > 0) choices.push(`crash ${index}`);
      if (all > 0 && stall > 0 && this.#hasHeld(index)) choices.push(`stall ${index}`);
      return choices;
    }
    // The order of an invisible step makes no difference, so it is taken at once.
    const invisible = this.#processes
      .flatMap(({ steps }, index) => (this.#isRunning(index) ? steps : []))
      .find((step) => step.isInvisible());
    if (invisible) return [invisible.name];
    // Both processes are equal, so only the cases in which process 0 takes the lock first are explored.
    const isFirst = (name: string) => !name.startsWith("takeLock of 1") || this.#hasHeld(0) || !this.#isRunning(0);
    const choices = ready.filter(isFirst);
    for (const [index, { state }] of this.#processes.entries()) {
      if (state === "stalled") choices.push(`resume ${index}`);
      if (all > 0 && crash > 0 && (state === "running" || state === "stalled")) choices.push(`crash ${index}`);
      if (all > 0 && stall > 0 && state === "running" && this.#hasHeld(index)) choices.push(`stall ${index}`);
    }
    for (const { name } of this.#network) {
      if (!name.startsWith("arrive") || all === 0) continue;
      if (lost > 0) choices.push(name.replace("arrive", "lose-before"), name.replace("arrive", "lose-after"));
      if (late > 0) choices.push(name.replace("arrive", "late"));
    }
    if (ready.length === 0 && this.#timers.some(({ process }) => this.#isRunning(process))) choices.unshift("time");
    return choices;
  }

  async take(choice: string): Promise<void> {
    const [name = "", rest = ""] = choice.split(/ (.*)/s);
    const process = this.#processes[Number(rest)];
    switch (name) {
      case "time": {
        const running = this.#timers.filter((timer) => this.#isRunning(timer.process));
        const next = running.reduce((one, other) => (other.due < one.due ? other : one));
        this.#now = Math.max(this.#now, next.due);
        this.#timers = this.#timers.filter((timer) => timer !== next);
        this.#run(next.process, `time ${this.#now}`, next.callback);
        break;
      }
      case "crash":
        this.#use("crash");
        if (process) process.state = "crashed";
        if (process) process.steps = [];
        this.#timers = this.#timers.filter((timer) => timer.process !== Number(rest));
        break;
      case "stall":
        this.#use("stall");
        if (process) process.state = "stalled";
        break;
      case "resume":
        if (process) process.state = "running";
        // The timers that were due while it was stalled fire now.
        for (const timer of this.#timers.filter(({ due, process: of }) => of === Number(rest) && due <= this.#now))
          timer.due = this.#now;
        break;
      default: {
        const isFault = ["lose-before", "lose-after", "late"].includes(name);
        const isUnheard = name === "unheard";
        const found = isFault ? `arrive ${rest}` : isUnheard ? `reply ${rest}` : choice;
        const step = [...this.#network, ...this.#processes.flatMap(({ steps }) => steps)].find(
          (one) => one.name === found,
        );
        if (!step) throw new Error(`no step ${choice}`);
        if (isFault) this.#use(name === "late" ? "late" : "lost");
        if (isUnheard) this.#use("unheard");
        this.#network = this.#network.filter((one) => one !== step);
        for (const one of this.#processes) one.steps = one.steps.filter((other) => other !== step);
        this.#fault = isFault ? name : undefined;
        this.#run(step.process, "", isUnheard ? () => step.reply?.lose() : step.act);
      }
    }
    await settle();
  }

  #fault: string | undefined;
  readonly #concurrency: number;
  readonly #leaseMs: number;
  readonly #bound: readonly StoredEntry[];
  readonly #settleMs: number;

  get isOver(): boolean {
    return this.#network.length === 0 && this.#processes.every(({ state }) => state === "done" || state === "crashed");
  }

  /** Returns a key, which is equal for states with the same future. */
  key(): string {
    const names = new Map<string, string>();
    const sorted = (steps: readonly Step[]) => steps.map(({ name }) => name).sort();
    const text = JSON.stringify([
      this.rows.entries.map(digestOf),
      this.rows.sender,
      this.effects.map(({ key }) => key),
      // A process works on several items at once. The order of its observations makes no difference.
      this.#processes.map(({ state, history, steps }) => [state, [...history].sort(), sorted(steps)]),
      sorted(this.#network),
      this.#timers.map(({ due, process }) => `${process} ${due}`).sort(),
      this.#now,
      this.#faults,
      this.late,
    ]);
    const named = text.replace(SENDER_NAME, (name) => {
      const known = names.get(name) ?? `sender ${names.size}`;
      names.set(name, known);
      return known;
    });
    return createHash("md5").update(named).digest("base64");
  }

  #use(fault: keyof Faults): void {
    this.#faults[fault] -= 1;
    this.#faults.all -= 1;
  }

  #isRunning(process: number): boolean {
    return process < 0 || this.#processes[process]?.state === "running";
  }

  #readyOf(processes: readonly number[]): string[] {
    return processes.flatMap((index) =>
      this.#isRunning(index) ? (this.#processes[index]?.steps.map(({ name }) => name) ?? []) : [],
    );
  }

  /** Whether the process has ever taken the lock. */
  #hasHeld(index: number): boolean {
    return this.#processes[index]?.history.some((line) => line.startsWith("takeLock")) ?? false;
  }

  #run(process: number, what: string, act: () => void): void {
    if (process >= 0) this.#current = process;
    if (what !== "" && process >= 0) this.#processes[process]?.history.push(what);
    act();
  }

  #unusedName(process: number, name: string): string {
    let unused = `${name} of ${process}`;
    while (this.#processes[process]?.steps.some((step) => step.name === unused)) unused += "'";
    return unused;
  }

  /** Adds a step of a process. The process observes the result. */
  #step<T>(process: number, name: string, act: () => T, isInvisible = () => false): Promise<T> {
    return new Promise((resolve, reject) => {
      const own = this.#processes[process];
      const unique = this.#unusedName(process, name);
      own?.steps.push({
        name: unique,
        process,
        isInvisible,
        act: () => {
          try {
            const result = act();
            own.history.push(`${name} ${JSON.stringify(digestOf(result))}`);
            resolve(result);
          } catch (error) {
            own.history.push(`${name} ${String(error)}`);
            reject(error);
          }
        },
      });
    });
  }

  /** Adds a command of a process. Its reply is a separate step. */
  #command<T>(process: number, name: string, act: () => T, isInvisible: () => boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      const own = this.#processes[process];
      const answer = (result: T) => {
        own?.history.push(`${name} ${JSON.stringify(digestOf(result))}`);
        resolve(result);
      };
      const lose = () => {
        own?.history.push(`${name} unheard`);
        reject(new Error("the connection was lost"));
      };
      const unique = this.#unusedName(process, name);
      own?.steps.push({
        name: unique,
        process,
        isInvisible,
        act: () => {
          const result = act();
          const shown = String(JSON.stringify(digestOf(result))).replace(SENDER_NAME, "sender");
          const name = `reply ${unique} ${shown}`;
          own.steps.push({ name, process, isInvisible: () => false, reply: { lose }, act: () => answer(result) });
        },
      });
    });
  }

  #store(process: number): OpenStore {
    const methods: Record<string, (...args: never[]) => unknown> = storeMethods(this.rows, this.#planted);
    const { rows } = this;
    const store = {
      id: STORE_ID,
      database: { kind: "sqlite" },
      names: { store: "store", entries: "entries" },
      // Each wait for the database is a step that happens in any case, so nothing needs to be aborted.
      abortableBy: (): OpenStore => proxy,
      isAborted: () => false,
      async *list() {
        yield* rows.entries;
      },
    };
    const proxy: OpenStore = new Proxy(store, {
      get: (target, name) => {
        const method = methods[String(name)];
        if (!method) return Reflect.get(target, name);
        return (...args: never[]) => {
          const key = name === "change" || name === "markSending" ? ` ${Object(args[0]).key}` : "";
          const isInvisible = () => isInvisibleCommand(String(name), args[0], rows);
          const run = HEARD_LATER.includes(String(name)) ? this.#command.bind(this) : this.#step.bind(this);
          return run(process, `${String(name)}${key}`, () => method(...args), isInvisible);
        };
      },
    }) as never;
    return proxy;
  }

  #client(process: number) {
    const call = (operation: string) => (input: object, options: RequestOptions) =>
      this.#write(process, operation, input, options);
    const item = async (shortID: string) => {
      const found = await this.#step(process, `item ${shortID}`, () => this.#items.get(shortID) ?? null);
      if (found !== null) return { shortID, ...found };
      const error = new NotFoundError(apiError(404));
      markAsServiceError(error);
      throw error;
    };
    return {
      timeoutMs: TIMEOUT_MS,
      bulkAllowance: { available: 1, share: 1, intervalMs: 1, pausedMs: 0 },
      inventory: {
        receive: call("receive"),
        issue: call("issue"),
        receiptLookup: this.#receiptLookup(process),
      },
      items: {
        get: item,
        create: call("create"),
        update: (shortID: string, changes: object, options: RequestOptions) =>
          this.#write(process, "update", { shortID, ...changes }, options),
      },
    } satisfies Record<string, unknown> & { inventory: Partial<Record<keyof InventoryClient["inventory"], unknown>> };
  }

  /** Reads the lots of an item twice, and judges them as the client does. */
  #receiptLookup(process: number) {
    const lots = this.#lots;
    return {
      get lastRecNo() {
        return lots.length === 0 ? undefined : lots.length;
      },
      readLastRecNo: async () => {},
      look: async (receipt: LookedUpReceipt, { pause }: { pause(): Promise<boolean> }) => {
        const judge = async () => {
          const read = () => lots.map(({ item, ...lot }) => ({ ...newLot(lot), shortID: item }));
          const shown = await this.#step(process, `lots ${receipt.itemID}`, read);
          return judgeReceipt(shown, { ...receipt, partNo: undefined });
        };
        let { outcome, lots: found } = await judge();
        if (outcome === "none" && (await pause())) ({ outcome, lots: found } = await judge());
        return { outcome: outcome === "none" ? "absent" : outcome, lots: found, reason: "" };
      },
    };
  }

  /** Makes one attempt to send a write, as the client does. */
  async #write(
    process: number,
    operation: string,
    input: object,
    { signal, beforeSend }: RequestOptions,
  ): Promise<object> {
    const { remark, itemID, shortID, description } = Object(input);
    const entry = this.rows.entries.find((one) => one.operation === operation && one.input === JSON.stringify(input));
    const key = entry?.key ?? "";
    const item = String(itemID ?? shortID);
    signal?.throwIfAborted();
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    aborted.catch(() => {});
    const beforeFirstByte = await Promise.race([
      Promise.resolve(beforeSend?.({ attempt: 1, clockAheadMs: 0 })),
      aborted,
    ]);
    await Promise.race([this.#step(process, `send ${key}`, () => beforeFirstByte?.()), aborted]);
    const sentAt = this.#now;
    const lost = (cause: unknown) => {
      const path = `/${operation}`;
      return new OutcomeUnknownError("lost", { request: { method: "POST", path, sentAt }, cause, status: undefined });
    };
    const takeEffect = () => {
      if (operation === "create" && this.#items.has(item)) return false;
      this.effects.push({ key, item, process });
      const created = this.#items.get(item)?.created ?? new Date(Date.now()).toISOString();
      if (operation === "create" || operation === "update") this.#items.set(item, { description, created });
      if (operation === "receive")
        this.#lots.push({ recNo: this.#lots.length + 1, remark, item, received: new Date(Date.now()).toISOString() });
      return true;
    };
    const response = new Promise<object>((resolve, reject) => {
      const attempt = entry?.attempts;
      const name = `${key}.${attempt}.${process}`;
      const respond = (act: () => void, what: string) => {
        const own = this.#processes[process];
        if (own?.state === "crashed") return;
        own?.steps.push({
          name: `respond ${name}`,
          process,
          isInvisible: () => true,
          act: () => {
            own.history.push(`respond ${name} ${what}`);
            act();
          },
        });
      };
      this.#network.push({
        name: `arrive ${name}`,
        process: -1,
        isInvisible: () => false,
        act: () => {
          const fault = this.#fault;
          if (fault === "late")
            this.#timers.push({ due: sentAt + this.#settleMs - 1, process: -1, callback: () => void takeEffect() });
          const isDone = fault === undefined || fault === "lose-after" ? takeEffect() : true;
          if (fault !== undefined) respond(() => reject(lost(new Error(fault))), fault);
          else if (isDone) respond(() => resolve({ status: "done" }), "done");
          else {
            const refused = new ConflictError(apiError(409));
            markAsServiceError(refused);
            respond(() => reject(refused), "refused");
          }
        },
      });
    });
    response.catch(() => {});
    return Promise.race([response, aborted.catch((reason: unknown) => Promise.reject(lost(reason)))]);
  }
}

const SENDER_NAME = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

/** Commands with a separate step for the reply. Others only count, or read what a later command compares before it writes. */
const HEARD_LATER = ["markSending", "change", "takeLock", "heartbeat", "next", "get", "cancelBound", "releaseLock"];

const entriesOf = (specs: readonly EntrySpec[], before: number): StoredEntry[] =>
  specs.map(({ operation, item, boundTo = null }, index): StoredEntry => {
    const key = `k${before + index}`;
    const quantity = { itemID: item, units: 1, wid: 1, reasonCode: 1 };
    const input = ["create", "update"].includes(operation) ? { shortID: item, description: key } : quantity;
    return {
      ...markedEntry(newEntry("add", { key, operation, input }, "remark", []), STORE_ID, "remark"),
      ...{
        sequence: before + index + 1,
        state: "pending",
        attempts: 0,
        sentAt: null,
        clockAheadMs: null,
        lastRecNo: null,
        resolvedAt: null,
        resolvedFrom: null,
      },
      ...{ settledAt: null, result: null, error: null, boundTo, addedAt: 0 },
    };
  });

/** Whether a command changes nothing that others can observe, and has the same result a moment later. */
function isInvisibleCommand(name: string, argument: unknown, { sender, entries }: Rows): boolean {
  if (name === "next") return argument === 1;
  if (name === "sender") return sender.sender !== "";
  if (name === "releaseLock") return sender.sender !== argument;
  if (name === "cancelBound") return !entries.some(({ state, boundTo }) => state === "pending" && boundTo !== null);
  return ["lastPlace", "countUnsettled", "get", "heartbeat"].includes(name);
}

/** Reduces entries and counts to what determines further steps. Returns any other value unchanged. */
function digestOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(digestOf);
  const { key, state, attempts, boundTo, toSend, unknown } = Object(value);
  // A run uses only two of the counts.
  if (toSend !== undefined) return `${toSend} ${unknown}`;
  return typeof key === "string" ? `${key} ${state} ${attempts} ${boundTo ?? ""}` : value;
}

const apiError = (status: number) => ({
  ...{ status, code: "error", message: `${status}`, serviceMessage: "", method: "GET", path: "/Item" },
  ...{ headers: {}, attempts: 1, details: undefined },
});

async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await undefined;
}
