import { AccessControl } from "./access/access-control.js";
import { createRandom, type Random } from "./data/random.js";
import { dispatch } from "./dispatch.js";
import { applyFault, takesEffect } from "./faults/apply-fault.js";
import { FaultRules } from "./faults/fault-rules.js";
import { HangingRequests } from "./hanging-requests.js";
import { relativePath, type SandboxRequest, splitTarget } from "./http/request.js";
import { emptyResponse, type SandboxResponse } from "./http/response.js";
import { SandboxListeners } from "./listeners.js";
import type { Settings } from "./options/settings.js";
import { type LoggedRequest, loggableBody, loggableQuery, RequestLog } from "./request-log.js";
import { createState, type State } from "./state.js";
import { createSandboxClock, httpDate, type SandboxClock, sleep } from "./time.js";

const CLIENT_DISCONNECTED: SandboxResponse = { ...emptyResponse(0), delivery: { kind: "drop" } };

/** The service itself, behind every adapter: turns a request into a response and records it. */
export class Service {
  readonly clock: SandboxClock;
  readonly log: RequestLog;
  readonly faults: FaultRules;
  readonly listeners = new SandboxListeners();
  /** Requests over fetch that never get a response. */
  readonly hanging = new HangingRequests();
  access: AccessControl;
  state: State;
  private random: Random;

  constructor(readonly settings: Settings) {
    this.clock = createSandboxClock(settings.now);
    this.log = new RequestLog(settings.requestLogSize);
    this.faults = new FaultRules(settings.seed);
    this.random = createRandom(settings.seed);
    this.access = new AccessControl(settings);
    this.state = createState(settings, this.clock.now());
    for (const rule of settings.faults) this.faults.add(rule);
  }

  /** Restores the initial state: data, tokens, counters, clock, log, and the faults of the options. */
  reset(): void {
    this.hanging.endAll();
    this.clock.reset();
    this.log.clear();
    this.faults.clear();
    for (const rule of this.settings.faults) this.faults.add(rule);
    this.random = createRandom(this.settings.seed);
    this.access = new AccessControl(this.settings);
    this.state = createState(this.settings, this.clock.now());
    this.listeners.reset();
  }

  async handle(request: SandboxRequest): Promise<SandboxResponse> {
    const { path: fullPath, query } = splitTarget(request.target);
    const path = relativePath(fullPath);
    const entry = this.logRequest(request, path ?? fullPath, query);
    const halfLatency = this.latency() / 2;
    if (halfLatency > 0) {
      await sleep(halfLatency, request.signal);
      // The caller disconnected before the request arrived.
      if (request.signal.aborted) return CLIENT_DISCONNECTED;
    }
    const response = this.respond(request, path, query, entry);
    const { kind } = response.delivery;
    entry.status = kind === "drop" || kind === "hang" ? null : response.status;
    this.listeners.request(entry);
    if (halfLatency > 0) await sleep(halfLatency, request.signal);
    return response;
  }

  private respond(
    request: SandboxRequest,
    path: string | undefined,
    query: URLSearchParams,
    entry: LoggedRequest,
  ): SandboxResponse {
    const { access, state, settings } = this;
    const now = this.clock.now();
    const identity = access.identify(request, path ?? "", now);
    const limited = access.rateLimitResponse(identity, now);
    entry.clientId = identity.client?.clientId;
    entry.remaining = access.rateUsage(identity.rateKey, now)?.remaining ?? null;
    if (limited) return withDate(limited, now);

    const serviceResponse = () => {
      const emitTransaction = this.listeners.transaction.bind(this.listeners);
      return dispatch({ request, path, query, identity, access, state, settings, now, emitTransaction });
    };
    const fault = this.faults.match(entry);
    if (!fault) return withDate(serviceResponse(), now);
    entry.fault = fault.type;
    return withDate(applyFault(fault, takesEffect(fault) ? serviceResponse() : undefined), now);
  }

  private logRequest(request: SandboxRequest, path: string, query: URLSearchParams): LoggedRequest {
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

function withDate(response: SandboxResponse, now: number): SandboxResponse {
  return { ...response, headers: { date: httpDate(now), ...response.headers } };
}
