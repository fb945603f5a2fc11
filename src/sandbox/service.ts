import type { MessagePort } from "node:worker_threads";
import { workerThreads } from "../runtime/node-modules.js";
import { onAbort } from "../time/abort.js";
import { sleep } from "../time/wait.js";
import { AccessControl } from "./access.js";
import { addToLog, type LoggedRequest, redactBody, redactQuery, SandboxListeners } from "./activity.js";
import { createRandomGenerator, type RandomGenerator } from "./data/random.js";
import { dispatchRequest } from "./dispatch.js";
import { applyFault, FaultRules } from "./faults/fault-rules.js";
import {
  DROPPED_RESPONSE,
  pathRelativeToBase,
  type SandboxRequest,
  type SandboxResponse,
  splitRequestTarget,
} from "./http/messages.js";
import type { SandboxSettings } from "./options/settings.js";
import { createSandboxState, type SandboxState } from "./state.js";
import { createSandboxClock, formatHttpDate, type SandboxClock } from "./time.js";

/** The service itself, behind every adapter: turns a request into a response and records it. */
export class SandboxService {
  readonly clock: SandboxClock;
  /** Always the same array, so that a test can keep a reference. */
  readonly requests: LoggedRequest[] = [];
  readonly faults: FaultRules;
  readonly listeners = new SandboxListeners();
  /** Requests that never get a response. */
  readonly hanging = new HangingRequests();
  access: AccessControl;
  state: SandboxState;
  #random: RandomGenerator;

  constructor(readonly settings: SandboxSettings) {
    this.clock = createSandboxClock(settings.now);
    this.faults = new FaultRules(settings.seed);
    this.#random = createRandomGenerator(settings.seed);
    this.access = new AccessControl(settings);
    this.state = createSandboxState(settings, this.clock.now());
    for (const rule of settings.faults) this.faults.add(rule);
  }

  /** Restores the initial state: data, tokens, counters, clock, log, and the faults of the options. */
  reset(): void {
    this.hanging.endAll();
    this.clock.reset();
    this.requests.length = 0;
    this.faults.clear();
    for (const rule of this.settings.faults) this.faults.add(rule);
    this.#random = createRandomGenerator(this.settings.seed);
    this.access = new AccessControl(this.settings);
    this.state = createSandboxState(this.settings, this.clock.now());
    this.listeners.reset();
  }

  async handle(request: SandboxRequest): Promise<SandboxResponse> {
    const { path: fullPath, query } = splitRequestTarget(request.target);
    const path = pathRelativeToBase(fullPath);
    const logged = this.#logRequest(request, path ?? fullPath, query);
    const halfLatency = this.#randomLatencyMs() / 2;
    if (halfLatency > 0) {
      await sleep(halfLatency, request.signal);
      // The caller disconnected before the request arrived.
      if (request.signal.aborted) return DROPPED_RESPONSE;
    }
    const response = this.#respond(request, path, query, logged);
    logged.status = response && response.delivery.kind !== "drop" ? response.status : null;
    this.listeners.request(logged);
    if (!response) return this.hanging.add(request.signal);
    if (halfLatency > 0) await sleep(halfLatency, request.signal);
    return response;
  }

  /** Undefined if there is never a response. */
  #respond(
    request: SandboxRequest,
    path: string | undefined,
    query: URLSearchParams,
    logged: LoggedRequest,
  ): SandboxResponse | undefined {
    const { access, state, settings } = this;
    const now = this.clock.now();
    const identity = access.identifyCaller(request, path ?? "", now);
    const limited = access.countRequest(identity, now);
    const clientId = identity.client?.clientId;
    logged.clientId = clientId;
    logged.remaining = access.rateUsage(identity.rateKey, now)?.remaining ?? null;
    if (limited) return withDateHeader(limited, now);

    const serviceResponse = () => {
      const emitTransaction = this.listeners.transaction.bind(this.listeners);
      return dispatchRequest(request, path, identity, access, { query, state, settings, now, emitTransaction });
    };
    const fault = this.faults.takeFaultFor({ method: request.method, path: logged.path, clientId });
    if (!fault) return withDateHeader(serviceResponse(), now);
    logged.fault = fault.type;
    const response = applyFault(fault, serviceResponse);
    return response && withDateHeader(response, now);
  }

  #logRequest(request: SandboxRequest, path: string, query: URLSearchParams): LoggedRequest {
    const logged: LoggedRequest = {
      method: request.method,
      path,
      query: redactQuery(query),
      body: redactBody(request.header("content-type"), request.body),
      status: null,
      clientId: undefined,
      at: this.clock.now(),
      remaining: null,
      fault: undefined,
    };
    addToLog(this.requests, logged, this.settings.requestLogSize);
    return logged;
  }

  #randomLatencyMs(): number {
    const [min, max] = this.settings.latencyMs;
    return max === 0 ? 0 : min + this.#random() * (max - min);
  }
}

function withDateHeader(response: SandboxResponse, now: number): SandboxResponse {
  return { ...response, headers: { date: formatHttpDate(now), ...response.headers } };
}

/**
 * Requests that never get a response. While there is one, the process stays alive, as with a real connection: the
 * caller's timeout may be an unreferenced timer, which does not keep the process alive.
 */
export class HangingRequests {
  readonly #ends = new Set<() => void>();
  // An open port keeps the process alive, and unlike a timer it is not affected by fake timers.
  #port: MessagePort | undefined;

  /** Never resolves. The request ends when the signal is aborted. */
  add(signal: AbortSignal): Promise<never> {
    if (!signal.aborted) {
      const stop = onAbort(signal, () => end());
      const end = () => {
        stop();
        this.#ends.delete(end);
        if (this.#ends.size > 0) return;
        this.#port?.close();
        this.#port = undefined;
      };
      this.#ends.add(end);
      this.#port ??= openPort();
    }
    return new Promise(() => {});
  }

  /** No longer keeps the process alive for the requests that hang now. */
  endAll(): void {
    for (const end of [...this.#ends]) end();
  }
}

/** Only Node.js, Bun and Deno end a process when nothing keeps it alive; elsewhere there is no port. */
function openPort(): MessagePort | undefined {
  const port = workerThreads && new workerThreads.MessageChannel().port1;
  port?.ref?.();
  return port;
}
