import { type ApiResponse, Caller } from "../sandbox/support/caller.js";

export type { ApiResponse as ServiceResponse };

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The clients of a sandbox that is the target. */
export const CLIENTS = {
  main: { clientId: "main", clientSecret: "m" },
  readOnlyClient: { clientId: "reader", clientSecret: "r", readOnly: true },
  scopedClient: { clientId: "scoped", clientSecret: "s", warehouses: [1] },
  powerlessClient: { clientId: "powerless", clientSecret: "p", permissions: [] },
};

export interface TargetOptions {
  /** Ends with the version segment. */
  readonly baseUrl: string;
  readonly credentials: Credentials;
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
  /** Reason code for receipts and issues. */
  readonly reasonCode?: number;
  /** Clients of other kinds, for the checks that need one. */
  readonly others?: { readonly [Kind in OtherClient]?: Credentials };
}

export type OtherClient = "readOnlyClient" | "scopedClient" | "powerlessClient";

const RATE_LIMIT_DELAY_MS = 31_000;

/** The service under test, seen from outside: a base URL and credentials, nothing else. */
export class Target extends Caller {
  readonly reasonCode: number;

  constructor(readonly options: TargetOptions) {
    super(options.baseUrl.replace(/\/+$/, ""), options.credentials, options.fetch);
    this.reasonCode = options.reasonCode ?? 1;
  }

  /** The same service, called by another client. */
  as(kind: OtherClient): Target {
    const credentials = this.options.others?.[kind];
    if (!credentials) throw new Error(`No credentials were given for ${kind}.`);
    return new Target({ ...this.options, credentials });
  }

  /** Asks exactly once. */
  once(path: string, init: RequestInit = {}): Promise<ApiResponse> {
    return super.raw(path, init);
  }

  /** Asks again after a 429, as the document recommends. */
  override async raw(path: string, init: RequestInit = {}): Promise<ApiResponse> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.once(path, init);
      if (response.status !== 429 || attempt === 5) return response;
      await new Promise((resolve) => setTimeout(resolve, RATE_LIMIT_DELAY_MS));
    }
  }
}
