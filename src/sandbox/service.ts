import { sleep } from "../shared/time/wait.js";
import { AccessControl } from "./access.js";
import { addToLog, type LoggedRequest, RequestListeners, redactBody, redactQuery } from "./activity.js";
import { createRandomGenerator } from "./data/random.js";
import { dispatchRequest } from "./dispatch.js";
import { applyFault, FaultRules, servesResponse } from "./faults.js";
import {
  DROPPED_RESPONSE,
  pathRelativeToBase,
  type SandboxRequest,
  type SandboxResponse,
  splitRequestTarget,
} from "./http/messages.js";
import type { SandboxSettings } from "./options/settings.js";
import { rewriteResponse } from "./rewrite.js";
import { createSandboxState } from "./state.js";

/** The service itself, behind every adapter: turns a request into a response and records it. */
export class SandboxService {
  /** Always the same array, so that a test can keep a reference. */
  readonly requests: LoggedRequest[] = [];
  readonly listeners = new RequestListeners();
  #advancedMs = 0;
  /** The state, which a reset replaces. */
  current: ReturnType<typeof startService>;

  constructor(readonly settings: SandboxSettings) {
    this.current = startService(settings, this.now());
  }

  /** The caller's clock, plus what {@link advance} has added. In ms since the epoch. */
  now(): number {
    return this.settings.now() + this.#advancedMs;
  }

  advance(milliseconds: number): void {
    this.#advancedMs += milliseconds;
  }

  /** Restores the initial state: data, tokens, counters, clock, log, and the faults of the options. */
  reset(): void {
    this.#advancedMs = 0;
    this.requests.length = 0;
    this.current = startService(this.settings, this.now());
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
    const served = this.#respond(request, path, query, logged);
    const { rewrite } = this.settings;
    const response =
      served && rewrite && servesResponse(logged.fault) ? await rewriteResponse(rewrite, served, request) : served;
    logged.status = response && response.delivery.kind !== "drop" ? response.status : null;
    this.listeners.notify(logged);
    if (!response) return new Promise(() => {});
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
    const { settings } = this;
    const { access, state, faults } = this.current;
    const now = this.now();
    const identity = access.identifyCaller(request, path ?? "", now);
    const limited = access.window?.admit(identity.rateKey, now);
    logged.clientId = identity.client?.clientId;
    logged.remaining = access.window?.remaining(identity.rateKey, now) ?? null;
    if (limited) return withDateHeader(limited, now);

    const serve = () => dispatchRequest({ request, path, query, identity, access, state, settings, now });
    const fault = faults.takeFaultFor(logged);
    logged.fault = fault?.type;
    const response = fault ? applyFault(fault, serve) : serve();
    return response && withDateHeader(response, now);
  }

  #logRequest(request: SandboxRequest, path: string, query: URLSearchParams): LoggedRequest {
    const logged: LoggedRequest = {
      method: request.method,
      path,
      query: redactQuery(query),
      body: redactBody(request.headers.get("content-type"), request.body),
      status: null,
      clientId: undefined,
      at: this.now(),
      remaining: null,
      fault: undefined,
    };
    addToLog(this.requests, logged);
    return logged;
  }

  #randomLatencyMs(): number {
    const [min, max] = this.settings.latencyMs;
    return max === 0 ? 0 : min + this.current.random() * (max - min);
  }
}

function startService(settings: SandboxSettings, now: number) {
  return {
    access: new AccessControl(settings),
    state: createSandboxState(settings, now),
    faults: new FaultRules(settings.seed, settings.faults),
    /** Random numbers for latencies. */
    random: createRandomGenerator(settings.seed),
  };
}

function withDateHeader(response: SandboxResponse, now: number): SandboxResponse {
  return { ...response, headers: { date: new Date(now).toUTCString(), ...response.headers } };
}
