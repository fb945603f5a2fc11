import { inspect, types } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { encodeJson } from "../../src/client/send/payload.js";
import { ApiError, ConnectionError, OutcomeUnknownError } from "../../src/shared/errors/index.js";
import { redact, redactData, redactStart } from "../../src/shared/errors/redaction/redact.js";
import { redactCause } from "../../src/shared/errors/redaction/redact-cause.js";
import { rememberCredentials, rememberHeaders, rememberSecret } from "../../src/shared/errors/redaction/secrets.js";
import { cpuMsOf } from "../support/loop-time.js";
import { RUN_ALL } from "../support/runs.js";

const SECRET = 'p@ss (\\"word"~)/+&=ü';
/** Less in `npm test`. */
const MEGABYTE = RUN_ALL ? 1_000_000 : 200_000;

const register = (...secrets: string[]) => {
  for (const secret of secrets) rememberSecret(secret);
};

const formEncoded = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
const lowerCaseEscapes = (text: string) => text.replace(/%[\dA-F]{2}|\\u[\dA-F]{4}/g, (code) => code.toLowerCase());
const base64 = (text: string) => Buffer.from(text).toString("base64");
const HTML: Record<string, string> = { "&": "&amp;", '"': "&quot;", "'": "&apos;", "<": "&lt;", ">": "&gt;" };
const unicodeEscaped = (text: string) =>
  text.replace(/[^\w ]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`);

describe("redaction", () => {
  it.each([
    ["a secret", `refused: ${SECRET}.`],
    ["a form-encoded secret", `refused: ${new URLSearchParams({ client_secret: SECRET })}`],
    ["a secret in a path", `GET /Item/${encodeURIComponent(SECRET)}`],
    ["a secret within JSON", JSON.stringify({ sent: SECRET })],
    ["a secret as Node shows it", inspect({ sent: SECRET })],
    ["a token", "Bearer token-0123456789 is unknown"],
    ["a token within a word", "xtoken-0123456789x"],
    ["a short secret on its own", "refused: s3cret"],
  ])("hides %s", (_, text) => {
    register(SECRET, "s3cret", "a", "token-0123456789");
    const shown = redact(text);
    expect(shown).toContain("[redacted]");
    expect(shown).not.toMatch(/p(@|%40)ss/);
    for (const secret of [SECRET, "token-0123456789", "s3cret"]) expect(shown).not.toContain(secret);
  });

  const SECRETS = [
    SECRET,
    "it's <b>&amp;\n",
    "a+b/c=d e%2Bf",
    "p%41\"ss\\u0041'w",
    "back\\slash\\\\n",
    "pässwörd 😀 !",
    "tail\ud83d",
    "12345678",
  ];
  const SPELLINGS: [name: string, spell: (secret: string) => string][] = [
    ["as it is", (secret) => secret],
    ["form-encoded", formEncoded],
    ["form-encoded in lower case", (secret) => lowerCaseEscapes(formEncoded(secret))],
    ["URI-encoded", (secret) => encodeURIComponent(secret.toWellFormed())],
    ["URI-encoded in lower case", (secret) => lowerCaseEscapes(encodeURIComponent(secret.toWellFormed()))],
    ["in JSON", (secret) => JSON.stringify(secret).slice(1, -1)],
    ["by util.inspect", (secret) => inspect(secret).slice(1, -1)],
    ["with HTML entities", (secret) => secret.replace(/[&"'<>]/g, (char) => HTML[char] ?? char)],
    ["with decimal entities", (secret) => secret.replace(/[^\w\s]/gu, (char) => `&#${char.codePointAt(0)};`)],
    [
      "with hexadecimal entities",
      (secret) => secret.replace(/[^\w\s]/gu, (char) => `&#x${char.codePointAt(0)?.toString(16)};`),
    ],
    ["with \\u002B escapes", unicodeEscaped],
    ["with \\u002b escapes", (secret) => lowerCaseEscapes(unicodeEscaped(secret))],
    ["with slashes escaped as PHP does", (secret) => JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/")],
    ["in base64", base64],
    ["in base64url", (secret) => Buffer.from(secret).toString("base64url")],
    ["in base64 within a form", (secret) => formEncoded(base64(secret))],
    ["as Basic authentication", (secret) => `Basic ${base64(`my scanner:${secret}`)}`],
    ["as Basic authentication of OAuth", (secret) => `Basic ${base64(`my+scanner:${formEncoded(secret)}`)}`],
  ];

  it.each(SPELLINGS)("hides a secret %s, and nothing else", (_, spell) => {
    for (const secret of SECRETS) {
      rememberCredentials({ clientId: "my scanner", clientSecret: secret });
      const spelled = spell(secret).replace(/^Basic /, "");
      // The padding of base64 shows nothing.
      const shown = redact(`before ‹${spelled}› after`).replace(/(=|%3D)+›/, "›");
      expect(shown, secret).toBe("before ‹[redacted]› after");
    }
  });

  it("hides secrets that overlap", () => {
    register("abcdefgh1234", "1234ijklmnop");
    expect(redact("<abcdefgh1234ijklmnop>")).toBe("<[redacted]>");
  });

  it("hides what stands where credentials stand, also if no client registered it", () => {
    expect(redact('{"access_token":"unheard-of","x":1}')).toBe('{"access_token":"[redacted]","x":1}');
    expect(redact("client_secret=unheard-of&x=1")).toBe("client_secret=[redacted]&x=1");
    expect(redact("Authorization: Bearer abcdefghij0123456789==")).toBe("Authorization: Bearer [redacted]");
    expect(redact("access_token: abcdefghij0123456789")).toBe("access_token: [redacted]");
    // A value may contain what no token contains, and prose goes on behind a token.
    expect(redact("client_secret=p$ss(w)rd&x=1")).toBe("client_secret=[redacted]&x=1");
    expect(redact("(Bearer abcdefghij0123456789)")).toBe("(Bearer [redacted])");
  });

  it.each([
    "A bearer of bad news: the token endpoint refused as3cretly",
    "POST /Token: access_token: is required",
    "access_token: must be a string; client_secret: is not known",
    "100 % of &c. in C:\\temp, 50%25",
  ])("leaves ordinary text alone: %s", (text) => {
    register("s3cret");
    expect(redact(text)).toBe(text);
  });

  it("reaches into data, and changes none of it in place", () => {
    register(SECRET);
    const data = Object.freeze({ list: Object.freeze([SECRET]), [SECRET]: 1, date: new Date(0) });
    expect(inspect(redactData(data))).not.toContain("p@ss");
    expect(data.list[0]).toBe(SECRET);
    const bare: object = Object.assign(Object.create(null), { text: SECRET });
    expect(inspect(redactData(bare))).not.toContain("p@ss");
    expect(redactData(JSON.parse('{"__proto__":{"a":1}}'))).toEqual(JSON.parse('{"__proto__":{"a":1}}'));
  });

  it("copies data that is deep, refers to itself, or throws when read", () => {
    register(SECRET);
    let deep: unknown = SECRET;
    for (let level = 0; level < 100_000; level += 1) deep = level % 2 ? [deep] : { deep };
    expect(JSON.stringify(redactData(deep))).not.toContain("p@ss");
    const cyclic: Record<string, unknown> = { text: SECRET };
    Object.assign(cyclic, { self: cyclic, both: [cyclic, cyclic] });
    const copy = redactData(cyclic);
    expect(copy.self).toBe(copy);
    expect(inspect(copy)).not.toContain("p@ss");
    const throwing = {
      get text() {
        throw new Error(SECRET);
      },
    };
    expect(redactData({ throwing, revoked: revokedProxy() })).toEqual({
      throwing: "[redacted]",
      revoked: "[redacted]",
    });
  });
});

it("the beginning of a string shows no part of a secret that continues behind it", () => {
  register("s3cret-of-client");
  expect(redactStart("abc", 3)).toBe("abc");
  expect(redactStart("abcd", 3)).toBe("abc…");
  expect(redactStart("abc s3cret-of-client", 9)).toBe("abc [redacted]…");
  expect(redactStart("abc s3cret-of-client", 3)).toBe("abc…");
  rememberHeaders({ "X-Key": "key-of-gateway" });
  expect(redactStart("abc key-of-gateway", 9)).toBe("abc [redacted]…");
});

it("the request of an unknown outcome shows no secret, but keeps words that are also values of headers", () => {
  register("s3cret-of-client");
  rememberHeaders({ "X-Warehouse": "Main Street" });
  const body = { remark: "s3cret-of-client to Main Street" };
  const request = { method: "POST", path: "/Inventory/Receive", body, sentAt: 0 };
  const error = new OutcomeUnknownError("sent", { cause: undefined, request });
  expect(error.request.body).toEqual({ remark: "[redacted] to Main Street" });
  expect(redact(body.remark)).toBe("[redacted] to [redacted]");
});

it("the request of an unknown outcome shows a body that is nested as deeply as may be sent", () => {
  const body: unknown = JSON.parse(`${"[".repeat(100)}1${"]".repeat(100)}`);
  expect(encodeJson("client.request", body, ["body"])).toBe(JSON.stringify(body));
  const request = { method: "POST", path: "/Orders", body, sentAt: 0 };
  expect(new OutcomeUnknownError("sent", { cause: undefined, request }).request.body).toEqual(body);
});

describe("the secrets of a process", () => {
  it("are the last 10 000 that were used, however they are spelled", () => {
    const secretOf = (count: number) => `sec/ret+${count}==`;
    register("client-secret");
    for (let count = 10_000; count < 25_000; count += 1) register("client-secret", secretOf(count));
    for (const count of [15_001, 20_000, 24_999]) {
      expect(redact(`<${secretOf(count)}> <${formEncoded(secretOf(count))}>`)).toBe("<[redacted]> <[redacted]>");
    }
    expect(redact(secretOf(15_000))).toBe(secretOf(15_000));
    expect(redact("client-secret")).toBe("[redacted]");
  });
});

describe("a hostile text or token", () => {
  it.each([
    ["a token of 40 000 characters", Array.from({ length: 8_000 }, (_, part) => `${10_000 + part}`).join("")],
    ["a token of 6 MB", `eyJh${"x".repeat(6 * MEGABYTE)}`],
    ["a token that repeats itself", "a".repeat(40_000)],
    ["a token that hardly repeats itself", `${"a".repeat(39_999)}b`],
  ])("%s is hidden, and breaks no error", (_, token) => {
    register(token);
    expect(redact(`<${token}>`)).toMatch(/^<?\[redacted\]>?$/);
    expect(redact(`<${base64(token)}>`)).not.toContain(base64(token).slice(0, 100));
    for (const text of ["a".repeat(MEGABYTE), token.slice(0, -1).repeat(2)]) {
      expect(redact(text).length).toBeLessThanOrEqual(text.length + 10);
    }
    expect(new ApiError(initOf(token)).message).not.toContain(token);
    expect(new ConnectionError("lost").message).toBe("lost");
  });

  it.each([
    ["Bearer and 6 MB of letters", "Bearer ", "x"],
    ["Bearer and 6 MB of padding", "Bearer 0123456789abcdef", "="],
    ["Bearer and 6 MB of spaces", "Bearer", " "],
    ["a field and 6 MB of quotes", "access_token", '"'],
    ["a field and 6 MB of value", "access_token=", "x"],
    ["escapes of megabytes", "", "\\u0041"],
    ["percent escapes of megabytes", "", "%25"],
    ["fields of megabytes", "", "access_token="],
    ["names of megabytes", "", "bearer"],
  ])("%s do not overflow the stack", (_, start, repeated) => {
    register(SECRET);
    const text = start + repeated.repeat(((start ? 6 : 2) * MEGABYTE) / repeated.length);
    expect(redact(`${text} end`)).toMatch(/ end$/);
    expect(redact(`${text} ${SECRET}`)).not.toContain("p@ss");
  });

  it("costs about the same with 3 000 clients as with one", () => {
    const text = 'POST /Inventory/Receive: 504 Gateway Timeout. "ey" secret-key of the key-holder. '.repeat(50);
    const measure = () => Math.min(...Array.from({ length: 9 }, () => cpuMsOf(() => redact(text))));
    register("secret-key-of-one-client");
    measure();
    const one = measure();
    for (let client = 0; client < 3_000; client += 1) {
      rememberCredentials({ clientId: "scanner", clientSecret: `${client}-secret-key-${client}` });
      register(`eyJhbGciOi.${client}`);
    }
    expect(measure()).toBeLessThan(20 * one + 1);
  });
});

const initOf = (message: string) => ({
  status: 500,
  code: "internal_error",
  message,
  method: "GET",
  path: "/Item",
  headers: {},
  attempts: 1,
});

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe("a cause", () => {
  const request = { method: "POST", path: "/Item", sentAt: 1 };

  it.each<[string, unknown]>([
    ["an error", new Error("connection reset")],
    ["an error of a class of the caller's", new (class Mine extends Error {})("mine")],
    ["an error with fields", Object.assign(new Error("lost"), { code: "E", socket: { port: 1, hosts: ["x"] } })],
    ["an error with a cause", new TypeError("fetch failed", { cause: new Error("refused") })],
    ["errors", new AggregateError([new Error("a"), new Error("b")])],
    ["the reason of an aborted signal", AbortSignal.abort().reason],
    ["an object", { reason: "the user left", since: new Date(0), steps: [{ a: 1 }] }],
    [
      "an object of a class of the caller's",
      new (class Canceled {
        by = "user";
      })(),
    ],
    ["a number", 7],
    ["nothing", null],
    ["an error of the package", new ApiError(initOf("x".repeat(MEGABYTE)))],
  ])("that is %s and shows no secret is kept", (_, cause) => {
    register(SECRET);
    expect(redactCause(cause)).toBe(cause);
  });

  it("of a class with methods becomes its name, message, code and stack, and so does what caused it", () => {
    class Left extends Error {
      override name = "Left";
      readonly code = "LEFT";
      readonly socket = { port: 1 };
      describe() {
        return "left";
      }
    }
    const left = new Left("the user left", { cause: new Left("and did not return") });
    const copy = redactCause(left);
    expect(copy).toMatchObject({ name: "Left", message: "the user left", code: "LEFT", stack: left.stack });
    expect(copy).toMatchObject({ cause: { name: "Left", message: "and did not return", code: "LEFT" } });
    expect(copy).not.toHaveProperty("socket");
    expect(redactCause(new Map([["a", 1]]))).toMatchObject({ message: "[redacted]" });
  });

  it("that refers to itself is kept", () => {
    const cause = new Error("loop");
    cause.cause = cause;
    expect(redactCause(cause)).toBe(cause);
  });

  it("that shows a secret anywhere is replaced by its name, message and code", () => {
    register(SECRET, "token-0123456789");
    const telling = Object.assign(new RangeError("bad"), { code: "E_BAD", request: { headers: { a: { b: SECRET } } } });
    const copy = redactCause(telling);
    expect(copy).toMatchObject({ name: "RangeError", message: "bad", code: "E_BAD" });
    expect(inspect(copy, { depth: 9 })).not.toContain("p@ss");
    const parser = Object.assign(new Error("parse"), { data: Buffer.from("token-0123456789") });
    expect(redactCause(parser)).not.toHaveProperty("data");
    const cut = Object.assign(new Error("parse"), { data: "0123456789 is the end of a token" });
    expect(redactCause(cut)).not.toHaveProperty("data");
    expect(redactCause(Object.assign(new Error("x"), { config: { client_secret: "unheard-of" } }))).not.toHaveProperty(
      "config",
    );
  });

  /** Shows nothing when it is first read, and the secret from then on. */
  const lying = (target: object, name: PropertyKey, enumerable = true) => {
    let reads = 0;
    return Object.defineProperty(target, name, {
      enumerable,
      get: () => {
        reads += 1;
        return reads === 1 ? "nothing" : SECRET;
      },
    });
  };
  const throwing = (target: object, name: PropertyKey) =>
    Object.defineProperty(target, name, {
      enumerable: true,
      get: () => {
        throw new Error(SECRET);
      },
    });
  const handler: ProxyHandler<Error> = {
    get() {
      throw new Error(SECRET);
    },
    getPrototypeOf() {
      throw new Error(SECRET);
    },
    ownKeys() {
      throw new Error(SECRET);
    },
  };
  class Shown extends Error {
    toJSON() {
      return SECRET;
    }
  }
  class Inspected extends Error {
    [inspect.custom]() {
      return SECRET;
    }
  }
  class Named extends Error {
    override get name() {
      return SECRET;
    }
  }
  let deep: object = { text: SECRET };
  for (let level = 0; level < 100_000; level += 1) deep = { deep };
  const endless: ProxyHandler<object> = { get: () => new Proxy({}, endless), ownKeys: () => ["a"] };

  it.each<[string, unknown]>([
    ["a getter that lies", lying(new Error("bad"), "config")],
    ["a hidden getter that lies", lying(new Error("bad"), "config", false)],
    ["a getter that throws", throwing(new Error("bad"), "config")],
    ["a message that throws", throwing(new Error("bad"), "message")],
    ["a name that lies", lying(new Error("bad"), "name")],
    ["a code that lies", lying(new Error("bad"), "code")],
    ["a stack that lies", lying(new Error("bad"), "stack")],
    ["a Proxy around it", new Proxy(new Error("bad"), {})],
    ["a Proxy that throws", new Proxy(new Error("bad"), handler)],
    ["a revoked Proxy", revokedProxy()],
    ["an endless Proxy in it", Object.assign(new Error("bad"), { config: new Proxy({}, endless) })],
    ["a prototype that is a Proxy", Object.create(new Proxy(new Error("bad"), {}))],
    ["a toJSON of its own", new Shown("bad")],
    ["a way of its own to be inspected", new Inspected("bad")],
    ["a name of its class that is computed", new Named("bad")],
    ["a promise in it", Object.assign(new Error("bad"), { pending: Promise.resolve(SECRET) })],
    [
      "a headers object in it",
      Object.assign(new Error("bad"), { headers: new Headers({ authorization: SECRET.slice(0, -1) }) }),
    ],
    ["something deep in it", Object.assign(new Error("bad"), { deep })],
    ["something large in it", Object.assign(new Error("bad"), { large: "x".repeat(10 * MEGABYTE) })],
    ["many things in it", Object.assign(new Error("bad"), { many: Array.from({ length: 100_000 }, () => ({ a: 1 })) })],
    ["a large array of bytes in it", Object.assign(new Error("bad"), { bytes: new Uint8Array(10 * MEGABYTE) })],
    ["no Error around it", { text: SECRET }],
    ["a symbol", Symbol(SECRET)],
  ])("with %s becomes harmless", (_, cause) => {
    register(SECRET);
    const error = new OutcomeUnknownError("sent", { cause, request });
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    // Compared without reading it, as an assertion that prints it would.
    expect(error.cause === cause).toBe(false);
    for (let look = 0; look < 3; look += 1) {
      expect(inspect(error, { depth: 9, showHidden: true, getters: true })).not.toContain("p@ss");
      expect(JSON.stringify(error)).not.toContain("p@ss");
    }
  });
});

const utilOfDeno = { types: { ...types, isExternal: undefined } };

describe.each([
  ["that lacks some functions of util.types, as Deno", { getBuiltinModule: () => utilOfDeno }],
  ["without node:util, as Workers", {}],
])("a cause on a runtime %s", (_, runtime) => {
  async function load() {
    vi.stubGlobal("process", runtime);
    vi.resetModules();
    onTestFinished(() => {
      vi.unstubAllGlobals();
      vi.resetModules();
    });
    const { redactCause: redactCauseThere } = await import("../../src/shared/errors/redaction/redact-cause.js");
    const { rememberSecret: rememberSecretThere } = await import("../../src/shared/errors/redaction/secrets.js");
    for (const secret of [SECRET, "canary-0123456789"]) rememberSecretThere(secret);
    return redactCauseThere;
  }

  it.each<[string, unknown]>([
    ["an error", new Error("the user left")],
    ["an error of a class", new RangeError("the user left", { cause: new Error("inner") })],
    ["an error with fields", Object.assign(new Error("left"), { code: "LEFT", details: { at: [1, { a: 1 }] } })],
    ["a DOMException", AbortSignal.abort().reason],
    ["an object", { why: "left" }],
  ])("that shows no secret stays %s", async (_name, cause) => {
    expect((await load())(cause)).toBe(cause);
  });

  it.each<[string, unknown]>([
    ["the message", new Error(`refused ${SECRET}`)],
    ["a field", Object.assign(new Error("refused"), { config: { auth: [SECRET] } })],
    ["a Map", Object.assign(new Error("refused"), { config: new Map([["auth", SECRET]]) })],
    ["bytes", Object.assign(new Error("refused"), { body: new TextEncoder().encode("canary-0123456789") })],
    ["the cause", new Error("refused", { cause: new Error(SECRET) })],
    ["a promise", Object.assign(new Error("refused"), { body: Promise.resolve(SECRET) })],
  ])("is replaced if %s shows one", async (_name, cause) => {
    const redacted = (await load())(cause);
    expect(redacted).not.toBe(cause);
    expect(inspect(redacted, { depth: 9 })).not.toContain(SECRET);
  });
});
