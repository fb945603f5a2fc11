import { Gate } from "./auth/gate.js";
import { type Clock, createClock } from "./clock.js";
import { dispatch } from "./dispatch.js";
import { Hangs } from "./doors/hangs.js";
import { FaultBook } from "./faults/fault-book.js";
import { spoil, takesEffect } from "./faults/spoil.js";
import { httpDate } from "./http/date.js";
import { type Incoming, relativePath, splitTarget } from "./http/incoming.js";
import { nothing, type Reply } from "./http/reply.js";
import { mulberry32, type Random } from "./random.js";
import { type LoggedRequest, loggableBody, loggableQuery, RequestLog } from "./request-log.js";
import type { Settings } from "./settings.js";
import { createState, type State } from "./store/state.js";
import { pause } from "./timing.js";
import { Watchers } from "./watchers.js";

const GONE: Reply = { ...nothing(0), delivery: { kind: "drop" } };

/** The service itself, behind whichever door: takes a request, gives a reply, remembers what happened. */
export class Service {
  readonly clock: Clock;
  readonly log: RequestLog;
  readonly faults: FaultBook;
  readonly watchers = new Watchers();
  /** Requests over fetch that get no answer. */
  readonly hangs = new Hangs();
  gate: Gate;
  state: State;
  private random: Random;

  constructor(readonly settings: Settings) {
    this.clock = createClock(settings.now);
    this.log = new RequestLog(settings.requestLogSize);
    this.faults = new FaultBook(settings.seed);
    this.random = mulberry32(settings.seed);
    this.gate = new Gate(settings);
    this.state = createState(settings, this.clock.now());
    for (const rule of settings.faults) this.faults.add(rule);
  }

  /** Back to the beginning: data, tokens, counters, clock, log, and the faults of the options. */
  reset(): void {
    this.hangs.release();
    this.clock.reset();
    this.log.clear();
    this.faults.clear();
    for (const rule of this.settings.faults) this.faults.add(rule);
    this.random = mulberry32(this.settings.seed);
    this.gate = new Gate(this.settings);
    this.state = createState(this.settings, this.clock.now());
    this.watchers.reset();
  }

  async handle(request: Incoming): Promise<Reply> {
    const { path: fullPath, query } = splitTarget(request.target);
    const path = relativePath(fullPath);
    const entry = this.record(request, path ?? fullPath, query);
    const halfLatency = this.latency() / 2;
    if (halfLatency > 0) {
      await pause(halfLatency, request.signal);
      // The caller hung up before the request arrived.
      if (request.signal.aborted) return GONE;
    }
    const reply = this.answer(request, path, query, entry);
    const { kind } = reply.delivery;
    entry.status = kind === "drop" || kind === "hang" ? null : reply.status;
    this.watchers.request(entry);
    if (halfLatency > 0) await pause(halfLatency, request.signal);
    return reply;
  }

  private answer(request: Incoming, path: string | undefined, query: URLSearchParams, entry: LoggedRequest): Reply {
    const { gate, state, settings } = this;
    const now = this.clock.now();
    const caller = gate.identify(request, path ?? "", now);
    const excess = gate.refuseExcess(caller, now);
    entry.clientId = caller.client?.clientId;
    entry.remaining = gate.reading(caller.rateKey, now)?.remaining ?? null;
    if (excess) return dated(excess, now);

    const proper = () => {
      const announce = this.watchers.transaction.bind(this.watchers);
      return dispatch({ request, path, query, caller, gate, state, settings, now, announce });
    };
    const fault = this.faults.strike(entry);
    if (!fault) return dated(proper(), now);
    entry.fault = fault.type;
    return dated(spoil(fault, takesEffect(fault) ? proper() : undefined), now);
  }

  private record(request: Incoming, path: string, query: URLSearchParams): LoggedRequest {
    const entry: LoggedRequest = {
      method: request.method,
      path,
      query: loggableQuery(query),
      body: loggableBody(request.header("content-type"), request.body),
      status: null,
      clientId: undefined,
      at: this.clock.now(),
      remaining: null,
      fault: undefined,
    };
    this.log.add(entry);
    return entry;
  }

  private latency(): number {
    const [min, max] = this.settings.latencyMs;
    return max === 0 ? 0 : min + this.random() * (max - min);
  }
}

function dated(reply: Reply, now: number): Reply {
  return { ...reply, headers: { date: httpDate(now), ...reply.headers } };
}
