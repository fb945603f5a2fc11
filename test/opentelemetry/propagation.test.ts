import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { context, SpanKind, type SpanOptions, TraceFlags, trace } from "@opentelemetry/api";
import type { ClientOptions, FetchLike } from "stocklot";
import { instrumentStocklot } from "stocklot/opentelemetry";
import { describe, expect, it, onTestFinished } from "vitest";
import { isNotToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { startServer, TRANSPORTS } from "../support/with-server.js";
import { attempts, connect, idOf, registerTracing, spans, traced, within } from "./support.js";

registerTracing();

describe("a call that is not recorded", () => {
  const unsampled = (traceFlags: TraceFlags) =>
    ({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags }) as const;

  it("has no spans of attempts, and sends its traceparent", async () => {
    const server = await startServer();
    const { client } = await connect({ baseUrl: server.baseUrl });
    const started: (string | undefined)[] = [];
    const span = trace.wrapSpanContext(unsampled(TraceFlags.NONE));
    const tracer = {
      startSpan: (name: string, options?: SpanOptions) => {
        started.push(`${SpanKind[options?.kind ?? 0]} ${name}`);
        return span;
      },
      startActiveSpan: () => expect.fail("not used"),
    };
    onTestFinished(instrumentStocklot({ tracerProvider: { getTracer: () => tracer } }));
    server.plan(faults.status(503), { on: isNotToken });
    await client.items.get("BOLT");
    expect(started).toEqual(["INTERNAL GET /api/v1/Item", "INTERNAL POST /api/v1/Token"]);
    expect(server.requests.map(({ headers }) => headers.traceparent)).toEqual(
      Array.from({ length: 3 }, () => "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"),
    );
  });
});

/** Starts a server that keeps the headers of its requests, and a traced client of it. */
async function start(options: ClientOptions) {
  const server = await startServer();
  const { client } = await traced({ baseUrl: server.baseUrl, ...options });
  return { server, client };
}

const traceparentOf = (span: ReturnType<typeof spans>[number]) => `00-${span.spanContext().traceId}-${idOf(span)}-01`;

/** Adds a header to each request of undici, like OpenTelemetry's own instrumentation of undici. */
function instrumentUndici(value: string): void {
  const addHeader = (message: unknown) =>
    (message as { request: { addHeader(name: string, value: string): void } }).request.addHeader("traceparent", value);
  subscribe("undici:request:create", addHeader);
  onTestFinished(() => void unsubscribe("undici:request:create", addHeader));
}

describe.each(TRANSPORTS)("traceparent over %s", (_, transport) => {
  it("names the span of each attempt, token requests included", async () => {
    const { server, client } = await start(transport);
    server.plan(faults.status(503));
    await within("job", () => client.items.get("BOLT"));
    const sent = server.requests.map(({ headers }) => headers.traceparent);
    const [tokenAttempt] = spans();
    expect(tokenAttempt?.name).toBe("POST /api/v1/Token");
    expect(sent).toEqual([tokenAttempt, ...attempts()].map((span) => span && traceparentOf(span)));
    expect(new Set(sent).size).toBe(3);
  });

  it("is left to another instrumentation of undici", async () => {
    const { server, client } = await start(transport);
    await client.items.get("BOLT");
    instrumentUndici("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    await client.items.get("BOLT");
    const sent = server.requests.filter(isNotToken).map(({ headers }) => headers.traceparent);
    expect(sent).toEqual([expect.any(String), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]);
  });

  it("is left to the caller's header", async () => {
    const { server, client } = await start({ ...transport, headers: { Traceparent: "of-the-caller" } });
    await client.items.get("BOLT");
    expect(server.requests.map(({ headers }) => headers.traceparent)).toEqual(["of-the-caller", "of-the-caller"]);
  });
});

it("spans that other instrumentations create while a request is sent are children of its attempt", async () => {
  const seen: (string | undefined)[] = [];
  const fetch: FetchLike = (url, init) => {
    if (!url.endsWith("/Token")) seen.push(trace.getSpan(context.active())?.spanContext().spanId);
    return globalThis.fetch(url, init);
  };
  const { server, client } = await start({ fetch });
  server.plan(faults.status(503));
  await client.items.get("BOLT");
  expect(seen).toEqual(attempts().map(idOf));
});
