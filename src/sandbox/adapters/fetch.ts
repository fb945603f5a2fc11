import { untilAborted } from "../../shared/time/wait.js";
import { bodyPieces, bodyToBytes, type SandboxRequest, type SandboxResponse } from "../http/messages.js";
import { toWebResponse } from "../rewrite.js";
import type { SandboxService } from "../service.js";

/** Called like the global `fetch`; responds without a network. */
export type SandboxFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export function createFetchAdapter(service: SandboxService): SandboxFetch {
  return async (input, init = {}) => {
    const signal = abortSignalOf(input, init) ?? new AbortController().signal;
    signal.throwIfAborted();
    const respond = async () => {
      const request = await fromFetchRequest(input, init, signal);
      return toFetchResponse(await service.handle(request), request);
    };
    return untilAborted(signal, respond());
  };
}

async function fromFetchRequest(
  input: string | URL | Request,
  init: RequestInit,
  signal: AbortSignal,
): Promise<SandboxRequest> {
  // The signal stays out: a Request would hang a listener on it that only garbage collection removes.
  const { signal: _signal, ...rest } = init;
  const request = new Request(input, rest.body ? { duplex: "half", ...rest } : rest);
  const { pathname, search } = new URL(request.url);
  return {
    method: request.method,
    target: pathname + search,
    headers: request.headers,
    body: request.body ? await request.text() : "",
    address: "127.0.0.1",
    signal,
  };
}

function abortSignalOf(input: string | URL | Request, init: RequestInit): AbortSignal | undefined {
  if (init.signal) return init.signal;
  return typeof input === "object" && "signal" in input ? input.signal : undefined;
}

/** The closest equivalent in fetch. Throws if the connection breaks before the response. */
function toFetchResponse(response: SandboxResponse, { method, signal }: SandboxRequest): Response {
  const { status, headers, body, delivery } = response;
  if (delivery.kind === "drop") throw connectionResetError();
  if (method === "HEAD") return new Response(null, { status, headers });
  if (delivery.kind === "whole") return toWebResponse(response);
  const length = delivery.kind === "truncated" ? { "content-length": String(bodyToBytes(body).length) } : {};
  return new Response(createBodyStream(response, signal), { status, headers: { ...headers, ...length } });
}

/** The pieces as a stream, which fails at the end if the body is truncated or the signal is aborted. */
function createBodyStream(response: SandboxResponse, signal: AbortSignal): ReadableStream {
  const pieces = bodyPieces(response, signal);
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await pieces.next();
      if (!done) controller.enqueue(value);
      else if (signal.aborted) controller.error(signal.reason);
      else if (response.delivery.kind === "truncated") controller.error(bodyTerminatedError());
      else controller.close();
    },
  });
}

/** The error with which fetch rejects when the connection breaks before the response. */
function connectionResetError(): TypeError {
  const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", errno: -104, syscall: "read" });
  return new TypeError("fetch failed", { cause });
}

/** The error with which reading a body fails when the connection breaks in the middle of it. */
function bodyTerminatedError(): TypeError {
  const cause = Object.assign(new Error("other side closed"), { name: "SocketError", code: "UND_ERR_SOCKET" });
  return new TypeError("terminated", { cause });
}
