import type { Sandbox } from "stocklot/sandbox";

/** A response with its body read: `body` is the parsed JSON, or the string if it is not JSON. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of the body
  readonly body: any;
}

/** Calls a sandbox through one of its adapters, without the client. */
export class Caller {
  private token: string | undefined;

  constructor(
    readonly baseUrl: string,
    private readonly credentials: { readonly clientId: string; readonly clientSecret: string },
    private readonly send: (url: string, init?: RequestInit) => Promise<Response> = fetch,
  ) {}

  get = (path: string) => this.call("GET", path);
  post = (path: string, body: unknown) => this.call("POST", path, body);
  put = (path: string, body: unknown) => this.call("PUT", path, body);
  delete = (path: string) => this.call("DELETE", path);

  async requestToken(fields: Record<string, string> = {}): Promise<ApiResponse> {
    const { clientId, clientSecret } = this.credentials;
    const form = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret, ...fields };
    return this.raw("/Token", { method: "POST", body: new URLSearchParams(form) });
  }

  /** Sends a request without a token, unless `init` contains one. */
  async raw(path: string, init: RequestInit = {}): Promise<ApiResponse> {
    const response = await this.send(this.baseUrl + path, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  }

  /** Returns the headers of an authorized request. */
  async authorization(): Promise<Record<string, string>> {
    this.token ??= String((await this.requestToken()).body.access_token);
    return { authorization: `Bearer ${this.token}` };
  }

  private async call(method: string, path: string, body?: unknown): Promise<ApiResponse> {
    const headers = await this.authorization();
    if (body === undefined) return this.raw(path, { method, headers });
    return this.raw(path, {
      method,
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }
}

/** Creates a caller of the sandbox's fetch function. By default, it uses the credentials of the first client. */
export function callerOf(sandbox: Sandbox, credentials = sandbox.credentials): Caller {
  return new Caller(sandbox.baseUrl, credentials, sandbox.fetch);
}

/** Returns a signal that fires when the sandbox lets a request hang. */
export function abortedWhenHanging(sandbox: Sandbox): AbortSignal {
  const caller = new AbortController();
  sandbox.onRequest(({ fault }) => {
    if (fault === "hang") setImmediate(() => caller.abort(new Error("enough")));
  });
  return caller.signal;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
