import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { ApiError, OutcomeUnknownError } from "../../src/shared/errors/index.js";
import {
  copyOfCause,
  redact,
  redactData,
  redactStart,
  rememberCallHeaders,
  rememberHeaders,
  rememberSecret,
} from "../../src/shared/errors/redact.js";

const SECRET = 'p@ss (\\"word"~)/+&=ü';
const MEGABYTE = 200_000;

const rememberCredentials = (clientId: string, clientSecret: string) => {
  rememberSecret(clientSecret);
  rememberSecret(`${clientId}:${clientSecret}`);
};

const formEncoded = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
const lowerCaseEscapes = (text: string) => text.replace(/%[\dA-F]{2}|\\u[\dA-F]{4}/g, (code) => code.toLowerCase());
const base64 = (text: string) => Buffer.from(text).toString("base64");
const HTML: Record<string, string> = { "&": "&amp;", '"': "&quot;", "'": "&apos;", "<": "&lt;", ">": "&gt;" };
const unicodeEscaped = (text: string) =>
  text.replace(/[^\w ]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`);

describe("redaction", () => {
  it.each([
    ["a token", "Bearer token-0123456789 is unknown"],
    ["a token within a word", "xtoken-0123456789x"],
    ["a short secret on its own", "refused: s3cret"],
  ])("hides %s", (_, text) => {
    for (const secret of [SECRET, "s3cret", "a", "token-0123456789"]) rememberSecret(secret);
    const shown = redact(text);
    expect(shown).toContain("[redacted]");
    expect(shown).not.toMatch(/p(@|%40)ss/);
    for (const secret of [SECRET, "token-0123456789", "s3cret"]) expect(shown).not.toContain(secret);
  });

  const SECRETS = [SECRET, "it's <b>&amp;\n", "a+b/c=d e%2Bf", "pässwörd 😀 !", "tail\ud83d", "12345678"];
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
    ["with padded decimal entities, as PHP does", (secret) => secret.replaceAll("'", "&#039;")],
    [
      "with hexadecimal entities",
      (secret) => secret.replace(/[^\w\s]/gu, (char) => `&#x${char.codePointAt(0)?.toString(16)};`),
    ],
    ["with \\u002B escapes", unicodeEscaped],
    ["with \\u002b escapes", (secret) => lowerCaseEscapes(unicodeEscaped(secret))],
    ["with slashes escaped as PHP does", (secret) => JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/")],
    ["in hexadecimal", (secret) => Buffer.from(secret).toString("hex").toUpperCase()],
    ["in base64", base64],
    ["in base64url", (secret) => Buffer.from(secret).toString("base64url")],
    ["as Basic authentication", (secret) => `Basic ${base64(`my scanner:${secret}`)}`],
  ];

  it.each(SPELLINGS)("hides a secret %s, and nothing else", (_, spell) => {
    for (const secret of SECRETS) {
      rememberCredentials("my scanner", secret);
      const spelled = spell(secret).replace(/^Basic /, "");
      // The padding of base64 shows nothing.
      const shown = redact(`before ‹${spelled}› after`).replace(/(=|%3D)+›/, "›");
      expect(shown, secret).toBe("before ‹[redacted]› after");
    }
  });

  it("hides what stands where credentials stand, also if no client registered it", () => {
    expect(redact('{"access_token":"unheard-of-0123","x":1}')).toBe('{"access_token":"[redacted]","x":1}');
    expect(redact("client_secret=unheard-of-0123&x=1")).toBe("client_secret=[redacted]&x=1");
    expect(redact("Authorization: Bearer abcdefghij0123456789==")).toBe("Authorization: Bearer [redacted]");
    expect(redact("(Bearer abcdefghij0123456789)")).toBe("(Bearer [redacted])");
    expect(redact("sqlite postgres://pg:PaSs.1@db:5432/x:")).toBe("sqlite postgres://pg:[redacted]@db:5432/x:");
  });

  it.each([
    "A bearer of bad news: the token endpoint refused as3cretly",
    "POST /Token: access_token: is required",
    "access_token: must be a string; client_secret: is not known",
    "100 % of &c. in C:\\temp, 50%25",
    "https://db:5432/a?b=c@d#e and mail to me@example.com",
  ])("leaves ordinary text alone: %s", (text) => {
    rememberSecret("s3cret");
    expect(redact(text)).toBe(text);
  });

  it("reaches into data, and changes none of it in place", () => {
    rememberSecret(SECRET);
    const data = Object.freeze({ list: Object.freeze([SECRET]), [SECRET]: 1, date: new Date(0) });
    expect(inspect(redactData(data))).not.toContain("p@ss");
    expect(data.list[0]).toBe(SECRET);
    let deep: unknown = SECRET;
    for (let level = 0; level < 10_000; level += 1) deep = level % 2 ? [deep] : { deep };
    expect(JSON.stringify(redactData(deep))).not.toContain("p@ss");
  });

  it("hides long values of headers, but not short or public ones, nor in the caller's own data", () => {
    const headers = { "X-Key": "key-of-the-gateway", "x-tenant": "2026", Accept: "application/vnd.acme+json" };
    rememberHeaders({ ...headers, Authorisation: "ApiKey fedcba9876543210" });
    const text = "key-of-the-gateway 2026 application/vnd.acme+json fedcba9876543210";
    expect(redact(text)).toBe("[redacted] 2026 application/vnd.acme+json [redacted]");
    const request = { method: "POST", path: "/Inventory/Receive", body: { remark: text }, sentAt: 0 };
    expect(new OutcomeUnknownError("sent", { cause: undefined, request }).request.body).toEqual({ remark: text });
  });

  it("knows the header values of all calls that have not ended, and of the last ones that have", () => {
    const keyOf = (index: number) => `key-of-a-call-${1_000 + index}`;
    const ends = Array.from({ length: 200 }, (_, index) => rememberCallHeaders({ "x-key": keyOf(index) }));
    const endAgain = rememberCallHeaders({ "x-key": keyOf(0) });
    const shown = () => ends.flatMap((_, index) => (redact(keyOf(index)) === keyOf(index) ? [index] : []));
    expect(shown()).toEqual([]);
    for (const end of ends) end();
    expect(shown()).toEqual(Array.from({ length: 149 }, (_, index) => index + 1));
    endAgain();
    expect(shown()).toHaveLength(150);
  });

  it("keeps the last 1 000 secrets, by their last use", () => {
    const secretOf = (count: number) => `sec/ret+${count}==`;
    rememberSecret("client-secret");
    for (let count = 10_000; count < 12_500; count += 1) {
      rememberSecret("client-secret");
      rememberSecret(secretOf(count));
    }
    for (const count of [11_600, 12_499])
      expect(redact(`<${secretOf(count)}> <${formEncoded(secretOf(count))}>`)).toBe("<[redacted]> <[redacted]>");
    expect(redact(secretOf(11_000))).toBe(secretOf(11_000));
    expect(redact("client-secret")).toBe("[redacted]");
  });
});

it("the beginning of a string shows no part of a secret that continues behind it", () => {
  rememberSecret("s3cret-of-client");
  expect(redactStart("abc", 3)).toBe("abc");
  expect(redactStart("abcd", 3)).toBe("abc…");
  expect(redactStart("abc s3cret-of-client", 9)).toBe("abc [reda…");
  expect(redactStart("abc s3cret-of-client", 3)).toBe("abc…");
});

describe("the beginning of a text, wherever it is cut, shows no part of a secret", () => {
  const LONG = `canary-${Array.from({ length: 3_000 }, (_, index) => index.toString(36)).join("-")}`;
  it.each<[string, (secret: string) => string]>([
    ["as it is", (secret) => secret],
    ["in entities", (secret) => secret.replace(/\W/g, (char) => `&#x${char.charCodeAt(0).toString(16)};`)],
    ["in percent escapes", (secret) => secret.replace(/\W/g, (char) => `%${char.charCodeAt(0).toString(16)}`)],
  ])("%s", (_, spell) => {
    for (const secret of ["s3cret-of-client", LONG]) {
      rememberSecret(secret);
      const [spelled, part] = [spell(secret), spell(secret.slice(0, 8))];
      for (const length of [20, 120, 4_000]) {
        for (const before of [0, length - 16, length - 1])
          expect(redactStart(`${"x ".repeat(before / 2)}${spelled}`, length)).not.toContain(part);
        expect(redactStart(`<b>${spelled}</b>`.repeat(300), length)).not.toContain(part);
      }
    }
  });
});

describe("a hostile text or token", () => {
  it.each([
    ["a token of 40 000 characters", Array.from({ length: 8_000 }, (_, part) => `${10_000 + part}`).join("")],
    ["a token of megabytes", `eyJh${"x".repeat(6 * MEGABYTE)}`],
    ["a token that repeats itself", "a".repeat(40_000)],
  ])("%s is hidden, and breaks no error", (_, token) => {
    rememberSecret(token);
    expect(redact(`<${token}>`)).toBe("<[redacted]>");
    expect(redact(`<${base64(token)}>`)).not.toContain(base64(token).slice(0, 100));
    const init = { status: 500, code: "x", message: token, method: "GET", path: "/Item", headers: {}, attempts: 1 };
    expect(new ApiError(init).message).not.toContain(token);
  });

  it.each([
    ["Bearer and megabytes of letters", "Bearer ", "x"],
    ["Bearer and megabytes of padding", "Bearer 0123456789abcdef", "="],
    ["a field and megabytes of quotes", "access_token", '"'],
    ["percent escapes of megabytes", "", "%25"],
  ])("%s do not overflow the stack", (_, start, repeated) => {
    rememberSecret(SECRET);
    const text = start + repeated.repeat((2 * MEGABYTE) / repeated.length);
    expect(redact(`${text} end`)).toMatch(/ end$/);
    expect(redact(`${text} ${SECRET}`)).not.toContain("p@ss");
  });
});

describe("a cause", () => {
  it("becomes its name, message, code and stack, and so does what caused it", () => {
    class Left extends Error {
      override name = "Left";
      readonly code = "LEFT";
      readonly socket = { port: 1, token: SECRET };
    }
    const left = new Left("the user left", { cause: new Left("and did not return") });
    const copy = copyOfCause(left);
    expect(copy).toMatchObject({ name: "Left", message: "the user left", code: "LEFT", stack: left.stack });
    expect(copy).toMatchObject({ cause: { name: "Left", message: "and did not return", code: "LEFT" } });
    expect(copy).not.toHaveProperty("socket");
  });

  const handler: ProxyHandler<Error> = {
    get() {
      throw new Error(SECRET);
    },
    getPrototypeOf() {
      throw new Error(SECRET);
    },
  };
  const cyclic = new Error("loop");
  cyclic.cause = cyclic;
  it.each<[string, unknown]>([
    ["a field", Object.assign(new Error("bad"), { config: { auth: SECRET } })],
    ["its message", new Error(`refused ${SECRET}`)],
    ["its code", Object.assign(new Error("bad"), { code: SECRET })],
    ["a Proxy that throws", new Proxy(new Error("bad"), handler)],
    ["a cause that is itself", cyclic],
    ["no Error", { text: SECRET }],
    ["text", `refused ${SECRET}`],
  ])("with the secret in %s shows none", (_, cause) => {
    rememberSecret(SECRET);
    const error = new OutcomeUnknownError("sent", { cause, request: { method: "POST", path: "/Item", sentAt: 1 } });
    expect(inspect(error, { depth: 9, showHidden: true, getters: true })).not.toContain("p@ss");
    expect(JSON.stringify(error)).not.toContain("p@ss");
  });
});
