import type { TokenManager } from "../auth/token-manager.js";
import type { RateLimiter } from "../limiter/rate-limiter.js";
import type { ClientState } from "../observe/events.js";
import type { LongWaitReporter } from "../observe/long-waits.js";
import type { Telemetry } from "../observe/telemetry.js";
import type { Transport } from "../transport/transport.js";
import type { Sending } from "./call.js";
import type { ServiceClock } from "./service-clock.js";

/** The parts of a client that the steps of a call use. */
export interface ClientParts {
  readonly limiter: RateLimiter;
  readonly tokens: TokenManager;
  readonly transport: Transport;
  readonly serviceClock: ServiceClock;
  readonly telemetry: Telemetry;
  readonly waits: LongWaitReporter<Sending>;
  /** For the events of a sending. */
  readonly state: ClientState;
}
