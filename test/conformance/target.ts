import { type ApiResponse, Caller } from "../sandbox/support/caller.js";

export type { ApiResponse as ServiceResponse };

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The clients of the sandbox, if a sandbox is tested. */
export const CLIENTS = {
  main: { clientId: "main", clientSecret: "m" },
  readOnlyClient: { clientId: "reader", clientSecret: "r", readOnly: true },
  scopedClient: { clientId: "scoped", clientSecret: "s", warehouses: [1] },
  powerlessClient: { clientId: "powerless", clientSecret: "p", permissions: [] },
};

export interface TargetOptions {
  /** The base URL, which ends with the version segment. */
  readonly baseUrl: string;
  readonly credentials: Credentials;
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
  /** Clients of other kinds, for the checks that need one. */
  readonly others: { readonly [Kind in OtherClient]: Credentials };
}

export type OtherClient = "readOnlyClient" | "scopedClient" | "powerlessClient";

/** The service under test, seen from outside: a base URL and credentials, nothing else. */
export class Target extends Caller {
  /** The reason code for receipts and issues. */
  readonly reasonCode = 1;

  constructor(readonly options: TargetOptions) {
    super(options.baseUrl, options.credentials, options.fetch);
  }

  /** The same service, called by another client. */
  as(kind: OtherClient): Target {
    return new Target({ ...this.options, credentials: this.options.others[kind] });
  }
}

/** One statement of the service's document, with a function that tests whether a service keeps to it. */
export interface Check {
  /** Heading of the document that the statement stands under. */
  readonly paragraph: string;
  readonly name: string;
  /** Rejects when the service does not do what the document says. */
  run(service: Target): Promise<void>;
}
