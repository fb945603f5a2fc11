import { vi } from "vitest";
import { InventoryClient } from "../../../src/index.js";
import {
  createOutbox,
  type OutboxEntry,
  type OutboxEntryInput,
  type OutboxOptions,
} from "../../../src/outbox/index.js";
import { createTables, OpenStore } from "../../../src/outbox/store.js";
import { createSandbox, type SandboxOptions } from "../../../src/sandbox/index.js";
import { findSqliteDriver, openSqlite } from "../../../src/storage/sqlite.js";
import { duplicatesAs400, inTurn, transactionForms } from "../../support/other-forms.js";
import { type Random, seededRandom } from "../../unit/paging/changing-list.js";
import { wait } from "./virtual-time.js";

// Now: to load it takes real time.
await findSqliteDriver();

const SKUS = ["BOLT", "NUT", "WASHER"] as const;
export const SETTLE_MS = 60_000;
const LEASE_MS = 30_000;
/** The service applies a request at most this much later than it was sent. */
const MAX_LATENESS_MS = 50_000;
const TIMEOUT_MS = 10_000;

/** A write that the service has applied. */
interface Effect {
  key: string;
  item: string;
  status: number;
}

export interface SimulationOptions {
  mark?: OutboxOptions["mark"];
  /** Other systems receive the same items. */
  hasOthers?: boolean;
  /** Of 100 requests. */
  requestFaults?: number;
  /** Of 100 commits, before and after their effect; other calls of the store, which are repeated often, fail rarely. */
  storeFaults?: number;
  clockJumps?: boolean;
  sandbox?: SandboxOptions;
}

/**
 * Processes that send the entries of one store, on virtual time: requests and commits are delayed, fail before or after their
 * effect, are applied late, and processes are killed at any step. What the service applied is recorded.
 */
export class Simulation {
  readonly #store = openMemoryStore();
  readonly effects: Effect[] = [];
  readonly entries: OutboxEntryInput[];
  readonly log: string[] = [];
  readonly random: Random;
  readonly #options: SimulationOptions;
  readonly #sandbox: ReturnType<typeof createSandbox>;
  isFaulty = true;
  kills = 0;

  constructor(seed: number, options: SimulationOptions = {}) {
    this.random = seededRandom(seed);
    this.#options = options;
    const start = Date.now() + this.random(7_200_000) - 3_600_000;
    this.#sandbox = createSandbox({
      items: SKUS.map((shortID) => ({ shortID })),
      lots: SKUS.map((shortID) => ({ shortID, wID: 3, units: 1_000, spot: "A-1", received: "2020-01-01T00:00:00Z" })),
      rateLimit: false,
      createForm: this.random(2) === 0 ? "item" : "reference",
      rewrite: inTurn(
        ...(this.random(2) === 0 ? [duplicatesAs400] : []),
        ...(this.random(4) === 0 ? [transactionForms({ Receive: () => new Response(null, { status: 201 }) })] : []),
      ),
      // A clock of its own, which the local clock does not affect.
      now: () => start + performance.now(),
      ...options.sandbox,
    });
    this.entries = this.#createEntries();
  }

  #createEntries(): OutboxEntryInput[] {
    const created: string[] = [];
    const createEntry = (key: string): OutboxEntryInput => {
      const sku = this.pick(SKUS);
      const quantity = { itemID: sku, units: 1 + this.random(2), wid: 3, reference: key };
      const serials = this.#options.mark === "serial" ? [{}] : [{}, {}, { serial: "LOT-7" }, { serial: `S-${key}` }];
      const shortID = this.pick([sku, "NEW-0", "NEW-1", "NEW-2", "NEW-3"]);
      const receive = {
        key,
        operation: "receive",
        input: { ...quantity, ...this.pick(serials), reasonCode: 1 },
      } as const;
      const units = this.random(8) === 0 ? 1_000_000 : 1;
      const create = () => {
        created.push(shortID);
        return { key, operation: "create", input: { shortID, description: key } } as const;
      };
      const update = () =>
        ({ key, operation: "update", input: { shortID: this.pick([sku, ...created]), description: key } }) as const;
      return this.pick<() => OutboxEntryInput>([
        () => receive,
        () => receive,
        () => receive,
        () => ({ key, operation: "move", input: { ...quantity, fromSpot: "A-1", toSpot: "B-1" } }),
        () => ({ key, operation: "issue", input: { ...quantity, units, reasonCode: 1, spot: "A-1" } }),
        create,
        update,
        update,
      ])();
    };
    return Array.from({ length: 6 + this.random(8) }, (_, index) => createEntry(`k${index}`));
  }

  /** The one store of all processes. */
  get store(): Promise<OpenStore> {
    return this.#store;
  }

  pick<T>(options: readonly T[]): T {
    const picked = options[this.random(options.length)];
    if (picked === undefined) throw new RangeError("nothing to pick");
    return picked;
  }

  isRequestFault(): boolean {
    return this.isFaulty && this.random(100) < (this.#options.requestFaults ?? 35);
  }

  isStoreFault(method: string): boolean {
    const percent = this.#options.storeFaults ?? 6;
    return (
      this.isFaulty &&
      this.random(1_000) < (/^(add|change|begin|beat|takeLock) /.test(method) ? 10 * percent : percent / 2)
    );
  }

  note(text: string): void {
    this.log.push(`${Math.round(performance.now())} ${text}`);
  }

  /** A process: an outbox that ends without a trace when it is killed. */
  startProcess(name: string, killAtStep: number): SimulatedProcess {
    return new SimulatedProcess(this, name, killAtStep, this.#options);
  }

  /** Something that the other users of the service do. */
  async #actOfOthers(): Promise<void> {
    if (!this.#options.hasOthers || this.random(4) > 0) return;
    const client = this.createClient((input, init) => this.#sandbox.fetch(input, init));
    const quantity = { itemID: this.pick(SKUS), units: 1 + this.random(2), wid: 3 };
    const act = this.pick([
      () => client.inventory.receive({ ...quantity, reasonCode: 1 }),
      () => client.inventory.move({ ...quantity, units: 1, toSpot: "C-1" }),
      () => client.inventory.issue({ ...quantity, units: 1, reasonCode: 1 }),
    ]);
    await act().catch(() => {});
  }

  createClient(fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>): InventoryClient {
    const { baseUrl, credentials } = this.#sandbox;
    const retry = { maxRetries: 1, minDelayMs: 10, maxDelayMs: 20, rateLimitDelayMs: [100, 200] as const };
    return new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false, timeoutMs: TIMEOUT_MS, retry });
  }

  /** What reaches the service, with its effect. */
  async deliver(request: Request): Promise<Response> {
    await this.#actOfOthers();
    const body: unknown =
      request.method === "GET"
        ? {}
        : await request
            .clone()
            .json()
            .catch(() => ({}));
    const response = await this.#sandbox.fetch(request);
    if (request.method !== "GET" && !request.url.endsWith("/Token") && response.ok) {
      const { reference, description, itemID, shortID } = Object(body);
      const effect = {
        key: String(reference ?? description),
        item: String(itemID ?? shortID).toLowerCase(),
        status: response.status,
      };
      this.effects.push(effect);
      this.note(`EFFECT ${effect.key}`);
    }
    return response;
  }

  /** The requests that the service has applied, by key. */
  effectsOf(key: string): number {
    return this.effects.filter((effect) => effect.key === key).length;
  }

  /** Shifts the local clock. */
  maybeShiftClock(): void {
    if (this.#options.clockJumps && this.isFaulty && this.random(40) === 0) {
      const shiftMs = this.pick([-7_200_000, -90_000, 90_000, 7_200_000]);
      this.note(`CLOCK ${shiftMs}`);
      vi.setSystemTime(Date.now() + shiftMs);
    }
  }

  readonly settings = { settleMs: SETTLE_MS, leaseMs: LEASE_MS };
  readonly maxLatenessMs = MAX_LATENESS_MS;
}

/** A database that all processes share, and that is gone with the test. */
async function openMemoryStore(): Promise<OpenStore> {
  const database = await openSqlite({ path: ":memory:" });
  const names = { store: "store", entries: "entries" };
  return new OpenStore(
    await database.transaction((run) => createTables("sqlite", run, names, "memory")),
    database,
    names,
  );
}

/** A promise of a killed process never settles. */
const never = <T>() => new Promise<T>(() => {});

class SimulatedProcess {
  readonly outbox: ReturnType<typeof createOutbox>;
  readonly killed: Promise<void>;
  readonly #simulation: Simulation;
  readonly #name: string;
  #stepsLeft: number;
  #resolveKilled = () => {};
  #outageUntil = -Infinity;
  isAlive = true;

  constructor(simulation: Simulation, name: string, killAtStep: number, { mark }: SimulationOptions) {
    this.#simulation = simulation;
    this.#name = name;
    this.#stepsLeft = killAtStep;
    this.killed = new Promise((resolve) => (this.#resolveKilled = resolve));
    const client = simulation.createClient((input, init) => this.#fetch(new Request(input, init)));
    const store = {
      open: async () => this.#faulty(await simulation.store),
      join: () => Promise.reject(new Error("no")),
    };
    this.outbox = createOutbox({ client, store: store as never, mark: mark ?? false, ...simulation.settings });
  }

  /** One step in the life of the process, at which it may be killed. */
  #step(what: string): void {
    this.#simulation.maybeShiftClock();
    this.#stepsLeft -= 1;
    if (!this.isAlive || this.#stepsLeft > 0) return;
    this.isAlive = false;
    this.#simulation.kills += 1;
    this.#simulation.note(`KILL ${this.#name} at ${what}`);
    this.#resolveKilled();
  }

  /** Sometimes the store is out of reach for this process, for longer than its leases: commands or responses are delayed. */
  #outage(): { beforeMs: number; afterMs: number } {
    const simulation = this.#simulation;
    const now = performance.now();
    if (this.#outageUntil < now && simulation.isFaulty && simulation.random(150) === 0) {
      this.#outageUntil = now + simulation.random(200_000);
      simulation.note(`OUTAGE of ${this.#name} until ${Math.round(this.#outageUntil)}`);
    }
    const delayMs = Math.max(0, this.#outageUntil - now);
    return simulation.random(2) === 0 ? { beforeMs: delayMs, afterMs: 0 } : { beforeMs: 0, afterMs: delayMs };
  }

  /** A store whose calls take time, and fail before or after their effect. A commit may take place after a kill. */
  #faulty(store: OpenStore): OpenStore {
    const simulation = this.#simulation;
    const call = async (name: string, act: () => Promise<unknown>): Promise<unknown> => {
      if (!this.isAlive) return never();
      this.#step(`before ${name}`);
      const [isFailedBefore, isFailedAfter] = [simulation.isStoreFault(name), simulation.isStoreFault(name)];
      const wasSent = this.isAlive || simulation.random(2) === 0;
      const outage = this.#outage();
      await wait(simulation.random(50) + outage.beforeMs);
      if (!wasSent || (isFailedBefore && this.isAlive)) {
        if (!this.isAlive) return never();
        throw new Error(`${name}: the store failed before`);
      }
      const result = await act();
      this.#step(`after ${name}`);
      await wait(simulation.random(50) + outage.afterMs);
      if (!this.isAlive) return never();
      simulation.note(
        `${this.#name} ${name} ${isFailedAfter ? "(response lost)" : ""} ${JSON.stringify(result)?.slice(0, 400)}`,
      );
      if (isFailedAfter) throw new Error(`${name}: the store failed after`);
      return result;
    };
    return new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (name === "list") return target.list.bind(target);
        if (typeof method !== "function") return method;
        return (...args: unknown[]) =>
          call(`${String(name)} ${JSON.stringify(args).slice(0, 300)}`, () => method.apply(target, args));
      },
    });
  }

  async #fetch(request: Request): Promise<Response> {
    if (!this.isAlive) return never();
    const simulation = this.#simulation;
    const { signal } = request;
    this.#step(`before ${request.method}`);
    if (!this.isAlive) return never();
    const fault = simulation.isRequestFault() ? simulation.pick(FAULTS) : "none";
    const copy = new Request(request.clone(), { signal: null });
    simulation.note(`${this.#name} ${request.method} ${new URL(request.url).pathname} ${fault}`);
    const work = async (): Promise<Response> => {
      await wait(simulation.random(500));
      const response = await respond(simulation, copy, fault);
      this.#step(`response ${request.method}`);
      await wait(simulation.random(500));
      return response;
    };
    const response = await Promise.race([work(), aborted(signal)]);
    return this.isAlive ? response : never();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

const FAULTS = [
  "refused",
  "reset-before",
  "reset-after",
  "reset-late",
  "hang-before",
  "hang-late",
  "slow",
  "error-before",
  "error-after",
  "unauthorized",
  "limited",
  "proxy-error",
  "proxy-forbidden",
  "proxy-not-found",
  "truncated",
] as const;

const networkError = (code: string) =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
const html = (status: number) =>
  new Response("<html><body>proxy</body></html>", { status, headers: { "content-type": "text/html" } });
const errorObject = (statusCode: number, error: string, message: string) =>
  Response.json({ statusCode, error, message }, { status: statusCode });

async function respond(
  simulation: Simulation,
  request: Request,
  fault: (typeof FAULTS)[number] | "none",
): Promise<Response> {
  const deliverLate = async () => {
    await wait(simulation.random(simulation.maxLatenessMs - 1_000));
    return simulation.deliver(request);
  };
  switch (fault) {
    case "none":
      return simulation.deliver(request);
    case "refused":
      throw networkError("ECONNREFUSED");
    case "reset-before":
      throw networkError("ECONNRESET");
    case "reset-after":
      await simulation.deliver(request);
      throw networkError("ECONNRESET");
    case "reset-late":
      void deliverLate();
      throw networkError("ECONNRESET");
    case "hang-before":
      return never();
    case "hang-late":
      void deliverLate();
      return never();
    case "slow":
      return deliverLate();
    case "error-before":
      return errorObject(500, "internal_error", "Unexpected.");
    case "error-after":
      await simulation.deliver(request);
      return errorObject(503, "internal_error", "Unexpected.");
    case "unauthorized":
      return errorObject(401, "unauthorized", "Expired.");
    case "limited":
      return Response.json({ message: "Rate Limit Exceeded. 100 per Minute" }, { status: 429 });
    case "proxy-error":
      return html(502);
    case "proxy-forbidden":
      return html(403);
    case "proxy-not-found":
      return html(404);
    case "truncated": {
      const { status, headers, ok } = await simulation.deliver(request);
      if (!ok) return html(502);
      const body = new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) });
      return new Response(body, { status, headers });
    }
  }
}

/** Runs processes until each entry is settled, unknown or held back, and returns the entries. */
export async function simulate(simulation: Simulation): Promise<OutboxEntry[]> {
  const rounds = 3 + simulation.random(4);
  let processes = 0;
  const live = async () => {
    for (let round = 0; round < rounds; round += 1) {
      const process = simulation.startProcess(`p${processes++}`, 1 + simulation.random(simulation.pick([20, 80, 400])));
      await Promise.race([useProcess(simulation, process), process.killed]);
      await wait(simulation.random(simulation.pick([1_000, 100_000])));
    }
  };
  await Promise.all(Array.from({ length: 1 + simulation.random(3) }, live));
  simulation.isFaulty = false;
  simulation.note("NO MORE FAULTS");
  const last = simulation.startProcess("last", Infinity);
  await last.outbox.addMany(simulation.entries);
  const report = await last.outbox.run();
  simulation.note(`REPORT ${JSON.stringify(report)}`);
  const again = await last.outbox.run();
  if (report.pending !== 0 || again.applied !== 0)
    throw new Error(`the last run left entries: ${JSON.stringify([report, again])}`);
  // Late requests must not change anything either.
  await wait(simulation.maxLatenessMs);
  const entries: OutboxEntry[] = [];
  for await (const entry of last.outbox.entries()) entries.push(entry);
  return entries;
}

async function useProcess(simulation: Simulation, { outbox }: SimulatedProcess): Promise<void> {
  for (let run = 0; run < 3; run += 1) {
    const controller = new AbortController();
    try {
      await outbox.addMany(simulation.entries);
      if (simulation.random(4) === 0) setTimeout(() => controller.abort(), simulation.random(20_000));
      const report = await outbox.run({ concurrency: 1 + simulation.random(4), signal: controller.signal });
      simulation.note(`report ${JSON.stringify(report)}`);
    } catch (error) {
      simulation.note(`run failed: ${String(error)}`);
    }
    await wait(simulation.random(5_000));
  }
}
