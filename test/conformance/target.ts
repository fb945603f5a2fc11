/** A response with its body read. */
export interface ServiceResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the checks say what they expect of the body
  readonly body: any;
}

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface TargetOptions {
  /** Ends with the version segment. */
  readonly baseUrl: string;
  readonly credentials: Credentials;
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
  /** How long to wait after a 429 before asking again, in milliseconds. */
  readonly rateLimitDelayMs?: number;
  /** Reason code for receipts and issues. */
  readonly reasonCode?: number;
  /** Clients of other kinds, for the checks that need one. */
  readonly others?: { readonly [Kind in OtherClient]?: Credentials };
}

export type OtherClient = "readOnlyClient" | "scopedClient" | "powerlessClient";

/** The service under test, seen from outside: a base URL and credentials, nothing else. */
export class Target {
  readonly reasonCode: number;
  private token: Promise<string> | undefined;

  constructor(readonly options: TargetOptions) {
    this.reasonCode = options.reasonCode ?? 1;
  }

  /** The same service, called by another client. */
  as(kind: OtherClient): Target {
    const credentials = this.options.others?.[kind];
    if (!credentials) throw new Error(`No credentials were given for ${kind}.`);
    return new Target({ ...this.options, credentials });
  }

  get = (path: string) => this.call("GET", path);
  post = (path: string, body: unknown) => this.call("POST", path, JSON.stringify(body));
  put = (path: string, body: unknown) => this.call("PUT", path, JSON.stringify(body));
  delete = (path: string) => this.call("DELETE", path);

  async call(method: string, path: string, body?: string): Promise<ServiceResponse> {
    this.token ??= this.requestToken().then((response) => String(response.body.access_token));
    const headers: Record<string, string> = { authorization: `Bearer ${await this.token}` };
    if (body === undefined) return this.raw(path, { method, headers });
    return this.raw(path, { method, headers: { ...headers, "content-type": "application/json" }, body });
  }

  requestToken(fields: Record<string, string> = {}): Promise<ServiceResponse> {
    const { clientId, clientSecret } = this.options.credentials;
    const form = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret, ...fields };
    return this.raw("/Token", { method: "POST", body: new URLSearchParams(form) });
  }

  /** Asks again after a 429, as the document recommends. */
  async raw(path: string, init: RequestInit = {}): Promise<ServiceResponse> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.once(path, init);
      if (response.status !== 429 || attempt === 5) return response;
      await new Promise((resolve) => setTimeout(resolve, this.options.rateLimitDelayMs ?? 31_000));
    }
  }

  /** Asks exactly once. */
  async once(path: string, init: RequestInit = {}): Promise<ServiceResponse> {
    const { baseUrl, fetch: send = fetch } = this.options;
    const response = await send(baseUrl.replace(/\/+$/, "") + path, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
