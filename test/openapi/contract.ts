import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { z } from "zod";

const schema = z.record(z.string(), z.unknown());
const content = z.record(z.string(), z.object({ schema })).default({});

const operationSchema = z.object({
  operationId: z.string(),
  security: z.array(z.unknown()).optional(),
  parameters: z
    .array(z.object({ name: z.string(), in: z.enum(["query", "path"]), required: z.boolean().default(false), schema }))
    .default([]),
  requestBody: z.object({ content }).optional(),
  responses: z.record(
    z.string(),
    z.object({ content, headers: z.record(z.string(), z.object({ schema })).default({}) }),
  ),
});

const documentSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), operationSchema)) });

type Operation = z.infer<typeof operationSchema>;
type JsonSchema = z.infer<typeof schema>;

interface Route {
  readonly method: string;
  readonly pattern: RegExp;
  readonly operation: Operation;
}

interface SentRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** Checks the requests and responses of a fetch function against the OpenAPI document. */
export class Contract {
  /** Descriptions of the requests and responses that do not match, each with the reason. */
  readonly problems: string[] = [];
  /** The operations that were called, by ID, each with the names of its received responses in the document. */
  readonly calledOperations = new Map<string, Set<string>>();
  readonly operations: readonly Operation[];

  private readonly ajv = formats.default(new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true }));
  private readonly compiled = new Map<JsonSchema, ValidateFunction>();
  private readonly routes: readonly Route[];

  constructor(document: unknown) {
    const { paths } = documentSchema.parse(dereferenced(document, document));
    this.routes = Object.entries(paths)
      // A concrete path takes precedence over a template that also matches.
      .sort(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")))
      .flatMap(([path, operations]) => {
        const pattern = new RegExp(`/api/v1${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);
        return Object.entries(operations).map(([method, operation]) => ({ method, pattern, operation }));
      });
    this.operations = this.routes.map(({ operation }) => operation);
  }

  /** Wraps a fetch function and checks what passes. `requests: false` skips the requests, which are then wrong on purpose. */
  watch(fetch: Fetch, { requests = true } = {}): Fetch {
    return async (url, init = {}) => {
      const sent: SentRequest = {
        method: init.method ?? "GET",
        url: new URL(url),
        headers: new Headers(init.headers),
        body: await new Response(init.body ?? "").text(),
      };
      const response = await fetch(url, init);
      const route = this.routes.find(
        ({ method, pattern }) => method === sent.method.toLowerCase() && pattern.test(sent.url.pathname),
      );
      const say = (problem: string) => this.problems.push(`${sent.method} ${url} → ${response.status}: ${problem}`);
      if (!route) {
        if (requests) say("no such operation");
        return response;
      }
      if (requests) this.checkRequest(route, sent, say);
      await this.checkResponse(route.operation, response.clone(), say);
      return response;
    };
  }

  private checkRequest({ operation, pattern }: Route, sent: SentRequest, say: (problem: string) => void): void {
    const inPath = pattern.exec(sent.url.pathname)?.groups ?? {};
    const query = new Map(sent.url.searchParams);
    for (const parameter of operation.parameters) {
      const text =
        parameter.in === "path" ? decodeURIComponent(inPath[parameter.name] ?? "") : query.get(parameter.name);
      query.delete(parameter.name);
      if (text !== undefined)
        this.fits(parameter.schema, typed(text, parameter.schema), `parameter ${parameter.name}`, say);
      else if (parameter.required) say(`the parameter ${parameter.name} is missing`);
    }
    for (const name of query.keys()) say(`unknown parameter ${name}`);

    const isSecured = operation.security?.length !== 0;
    if (isSecured !== /^Bearer ./.test(sent.headers.get("authorization") ?? ""))
      say("the token is missing or too many");

    const type = sent.headers.get("content-type")?.split(";")[0];
    const expected = Object.entries(operation.requestBody?.content ?? {});
    if (expected.length === 0 && sent.body) say("a body that the document does not know");
    for (const [contentType, body] of expected) {
      if (type !== contentType) say(`content type ${type}`);
      const value: unknown =
        contentType === "application/json" ? JSON.parse(sent.body) : Object.fromEntries(new URLSearchParams(sent.body));
      this.fits(body.schema, value, "request body", say);
      for (const field of Object.keys(schemaOf(value))) {
        if (!Object.hasOwn(schemaOf(body.schema.properties), field)) say(`unknown field ${field}`);
      }
    }
  }

  private async checkResponse(operation: Operation, response: Response, say: (problem: string) => void): Promise<void> {
    const { status, headers } = response;
    const name = [String(status), `${String(status)[0]}XX`, "default"].find((each) => operation.responses[each]);
    const expected = name === undefined ? undefined : operation.responses[name];
    if (!name || !expected) return void say("no such response");
    this.calledOperations.set(
      operation.operationId,
      (this.calledOperations.get(operation.operationId) ?? new Set()).add(name),
    );

    const body: unknown = await response.json().catch(() => say("the body is not JSON"));
    const json = expected.content[headers.get("content-type")?.split(";")[0] ?? ""];
    if (json) this.fits(json.schema, body, "body", say);
    else say(`content type ${headers.get("content-type")}`);
    for (const [header, { schema }] of Object.entries(expected.headers)) {
      const text = headers.get(header);
      if (text !== null) this.fits(schema, typed(text, schema), `header ${header}`, say);
      else if ("totalCount" in schemaOf(body)) say(`the header ${header} is missing`);
    }
  }

  private fits(schema: JsonSchema, value: unknown, what: string, say: (problem: string) => void): void {
    const validate = this.compiled.get(schema) ?? this.ajv.compile(schema);
    this.compiled.set(schema, validate);
    if (!validate(value)) say(`${what} ${this.ajv.errorsText(validate.errors)}`);
  }
}

const schemaOf = (value: unknown): JsonSchema => schema.catch({}).parse(value);

/** Converts a string of a URL or a header to the schema's type; returns it unchanged if it cannot. */
const typed = (text: string, { type }: JsonSchema): unknown =>
  type === "integer" && text !== "" ? Number(text) : text;

/** Returns the value with its references resolved. */
function dereferenced(value: unknown, document: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => dereferenced(entry, document));
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value && typeof value.$ref === "string") {
    const names = value.$ref.split("/").slice(1);
    return dereferenced(
      names.reduce((found: unknown, name) => schemaOf(found)[name], document),
      document,
    );
  }
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, dereferenced(entry, document)]));
}
