import type { IncomingMessage, ServerResponse } from "node:http";
import type { SandboxRequest } from "../http/incoming.js";

/** A request that came over a real connection. */
export class NodeRequest implements SandboxRequest {
  readonly method: string;
  readonly target: string;
  private caller: AbortController | undefined;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    readonly body: string,
  ) {
    this.method = request.method ?? "GET";
    this.target = originForm(request.url ?? "/");
  }

  header(name: string): string | null {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  }

  get address(): string {
    return this.request.socket.remoteAddress ?? "";
  }

  /** Made at its first use: most requests are answered before anyone could ask whether the caller is still there. */
  get signal(): AbortSignal {
    if (!this.caller) {
      const caller = new AbortController();
      this.caller = caller;
      if (this.response.destroyed) caller.abort();
      else this.response.once("close", () => caller.abort());
    }
    return this.caller.signal;
  }
}

/** A proxy is sent the whole URL in the request line; only the path matters here. */
function originForm(target: string): string {
  return target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "") || "/";
}
