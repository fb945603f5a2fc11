import {
  type ClientOptions,
  InventoryClient,
  type Page,
  type RequestOptions,
  type ResponseInfo,
} from "../../client/index.js";
import { TOKEN_REQUEST } from "../../service/operations.js";
import { ApiError, ConnectionError, StocklotError } from "../../shared/errors/index.js";
import type { RecordList } from "../list-probes.js";

/** One page that was requested, or why there is none. */
export interface ProbedPage {
  page: Page<object> | undefined;
  /** The error response, or what made the body unusable. */
  error: StocklotError | undefined;
  response: ResponseInfo;
  /** When the response was there, in ms since the epoch. */
  receivedAt: number;
  /** From sending to the last byte, in ms: without waiting for a slot or a token. */
  durationMs: number;
}

/** Sends single reads, and keeps the responses. */
export class ServiceProbe {
  readonly client: InventoryClient;
  readonly pages: ProbedPage[] = [];
  /** Requests without a response, each with its path. */
  readonly withoutResponse: { path: string; error: ConnectionError }[] = [];
  /** What is not as documented in the pages. */
  readonly warnings = new Set<string>();
  /** For how long the last token is valid; undefined as long as there is none. */
  tokenLifetimeMs: number | undefined;
  /** Which the lifetime counts from. */
  #tokenRequestedAt = Date.now();
  /** Of the last response, from sending to the last byte. */
  #lastDurationMs = 0;

  constructor(
    options: ClientOptions,
    readonly signal: AbortSignal | undefined,
  ) {
    const ignore = () => {};
    this.client = new InventoryClient({
      ...options,
      responseValidation: "warn",
      // What fails is a finding. The request for a token would be retried otherwise.
      retry: false,
      hooks: {
        request: (event) => {
          if (event.path === TOKEN_REQUEST.path) this.#tokenRequestedAt = Date.now();
          options.hooks?.request?.(event);
        },
        response: ({ durationMs }) => {
          this.#lastDurationMs = durationMs;
        },
      },
      tokenStore: {
        get: async () => undefined,
        set: async ({ expiresAt }) => {
          this.tokenLifetimeMs = expiresAt - this.#tokenRequestedAt;
        },
        delete: async () => {},
      },
      logger: {
        debug: ignore,
        info: ignore,
        error: ignore,
        warn: (message) => void this.warnings.add(message.replace(/^stocklot: /, "")),
      },
    });
  }

  /** Returns undefined if there is no response, but a token: other lists may respond. Rejects if nothing will work. */
  async page(
    path: string,
    open: (client: InventoryClient, options: RequestOptions) => Pick<RecordList, "page">,
  ): Promise<ProbedPage | undefined> {
    let response: ResponseInfo | undefined;
    let page: Page<object> | undefined;
    let error: StocklotError | undefined;
    const onResponse = (info: ResponseInfo) => {
      response = info;
    };
    try {
      page = await open(this.client, { signal: this.signal, retry: false, onResponse }).page();
    } catch (failure) {
      if (failure instanceof ConnectionError && this.tokenLifetimeMs !== undefined) {
        this.withoutResponse.push({ path, error: failure });
        return undefined;
      }
      if (!response || !StocklotError.is(failure) || failure instanceof ConnectionError) throw failure;
      // Refused credentials end the examination, and so does the rate limit: the client would pause for a minute.
      if (failure instanceof ApiError && [401, 429].includes(failure.status)) throw failure;
      error = failure;
    }
    if (!response) throw new Error("the client reported no response");
    const probed = { page, error, response, receivedAt: Date.now(), durationMs: this.#lastDurationMs };
    this.pages.push(probed);
    return probed;
  }
}
