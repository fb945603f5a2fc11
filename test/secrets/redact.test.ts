import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ApiError, OutcomeUnknownError } from "../../src/shared/errors/index.js";
import { copyOfCause, redact, redactData, redactStart } from "../../src/shared/errors/redact.js";
import { ClientSecrets, rememberCallHeaders } from "../../src/shared/errors/secrets.js";

import { waitUntil } from "../support/with-server.js";

const SECRET = 'p@ss (\\"word"~)/+&=ü';
const MEGABYTE = 200_000;

/** Keeps clients in memory as long as the test file runs. Each has one secret. */
const living: ClientSecrets[] = [];
function rememberSecret(secret: string): ClientSecrets {
  const client = new ClientSecrets();
  living.push(client);
  client.rememberSecret(secret);
  return client;
}

const formEncoded = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
const lowerCaseEscapes = (text: string) => text.replace(/%[\dA-F]{2}|\\u[\dA-F]{4}/g, (code) => code.toLowerCase());
const base64 = (text: string) => Buffer.from(text).toString("base64");
const allUnits = (text: string, spell: (code: string) => string) =>
  Array.from({ length: text.length }, (_, index) => spell(text.charCodeAt(index).toString(16))).join("");
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

  const SECRETS = [SECRET, "it's <b>&amp;\n", "a+b/c=d e%2Bf", "pässwörd 😀 !", "the tail\ud83d", "12345678"];
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
      "with padded decimal entities, as PHP does",
      (secret) => secret.replace(/[&"'<>]/g, (char) => (char === "'" ? "&#039;" : (HTML[char] ?? char))),
    ],
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
    [
      "in base64 with line breaks",
      (secret) =>
        base64(secret)
          .replace(/=+$/, "")
          .replace(/.{5}(?!$)/g, "$&\r\n"),
    ],
    ["with every character percent-encoded", (secret) => Buffer.from(secret).toString("hex").replace(/../g, "%$&")],
    ["with every character a unicode escape", (secret) => allUnits(secret, (code) => `\\u${code.padStart(4, "0")}`)],
    [
      "with every character an entity",
      (secret) => [...secret.toWellFormed()].map((c) => `&#${c.codePointAt(0)};`).join(""),
    ],
  ];

  it.each(SPELLINGS)("hides a secret %s, and nothing else", (_, spell) => {
    for (const secret of SECRETS) {
      rememberSecret(secret);
      const spelled = spell(secret);
      // The padding of base64, which may remain, reveals nothing.
      const shown = redact(`before ‹${spelled}› after`).replace(/(=|%3D)+›/, "›");
      expect(shown, secret).toBe("before ‹[redacted]› after");
    }
  });

  it("hides the password of an address", () => {
    expect(redact("sqlite postgres://pg:PaSs.1@db:5432/x:")).toBe("sqlite postgres://pg:[redacted]@db:5432/x:");
  });

  it.each([
    "A bearer of bad news: the token endpoint refused as3cretly",
    "POST /Token: access_token: is required",
    "access_token: must be a string; client_secret: is not known",
    "100 % of &c. in C:\\temp, 50%25",
    "Bearer authentication required",
    "The bearer identification was not accepted; Bearer realm=inventory",
    "client_secret: missing_parameter, access_token=unheard-of-0123",
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
    rememberSecret("unrelated").rememberHeaders({ ...headers, Authorisation: "ApiKey fedcba9876543210" });
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

  it("knows the last five secrets and the last five tokens of each client", () => {
    const [one, other] = [rememberSecret("secret-of-one-0"), rememberSecret("secret-of-other-0")];
    for (let count = 1; count < 8; count += 1) {
      one.rememberSecret(`secret-of-one-${count}`);
      one.rememberToken(`token-of-one-${count}`);
      // A secret that is used again counts as the newest.
      one.rememberSecret("secret-of-one-1");
    }
    other.rememberSecret("secret-of-one-2");
    const shown = (text: string) => redact(text) === text;
    const numbers = [0, 1, 2, 3, 4, 5, 6, 7];
    expect(numbers.filter((count) => shown(`secret-of-one-${count}`))).toEqual([0, 3]);
    expect(numbers.filter((count) => shown(`token-of-one-${count}`))).toEqual([0, 1, 2]);
    expect(shown("secret-of-other-0")).toBe(false);
  });

  it("of many clients knows all, and takes no more time", () => {
    const clients = Array.from({ length: 3_000 }, (_, index) => {
      const client = rememberSecret(`other-secret-${index}-xyzxyz`);
      client.rememberToken(`token-number-${index}-abcdefgh`);
      return client;
    });
    expect(clients).toHaveLength(3_000);
    for (const index of [0, 1_500, 2_999])
      expect(redact(`secret other-secret-${index}-xyzxyz token token-number-${index}-abcdefgh`)).toBe(
        "secret [redacted] token [redacted]",
      );
  });

  it("knows the secrets of the last thousand clients if the runtime has no FinalizationRegistry", () => {
    vi.stubGlobal("FinalizationRegistry", undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    const secretOf = (index: number) => `unregistered-client-${index}!`;
    for (let index = 0; index < 1_003; index += 1) new ClientSecrets().rememberSecret(secretOf(index));
    const isKnown = (index: number) => !redact(`sent ${secretOf(index)}`).includes(secretOf(index));
    expect([2, 3, 4, 1_002].map(isKnown)).toEqual([false, true, true, true]);
  });

  it("forgets the secrets of clients that were collected, closed or not", async () => {
    setFlagsFromString("--expose-gc");
    const collect: unknown = runInNewContext("gc");
    if (typeof collect !== "function") throw new Error("no gc");
    const held = rememberSecret("secret-of-the-living");
    for (let index = 0; index < 200; index += 1) new ClientSecrets().rememberSecret(`secret-of-the-dropped-${index}`);
    const isForgotten = () =>
      Array.from({ length: 200 }, (_, index) => `secret-of-the-dropped-${index}`).every(
        (text) => redact(text) === text,
      );
    await waitUntil(() => {
      collect();
      return isForgotten();
    });
    expect(redact("secret-of-the-living")).toBe("[redacted]");
    held.rememberSecret("secret-of-the-living");
  });
});

describe("base64 that contains a secret", () => {
  const secretOf = (length: number) => `S${"üx+/~?>€".repeat(9)}`.slice(0, length);
  it("shows none of its bytes, at any offset, of any length from 8 characters on", () => {
    for (let length = 8; length < 40; length += 1) {
      const secret = secretOf(length);
      rememberSecret(secret);
      for (let offset = 0; offset < 7; offset += 1) {
        for (let rest = 0; rest < 4; rest += 1) {
          const [before, after] = ["0123456".slice(0, offset), "&x=1".slice(0, rest)];
          for (const encoding of ["base64", "base64url"] as const) {
            const spelled = Buffer.from(before + secret + after).toString(encoding);
            const shown = redact(`event ${spelled} end`);
            expect(shown, `${length} ${offset} ${rest}`).toContain("[redacted]");
            const parts = shown.replace("[redacted]", " ").split(" ").slice(1, -1);
            // The rest of the text decodes only to bytes around the secret.
            const bytes = parts.map((part, index) =>
              index === 0 ? Buffer.from(part, encoding).toString("latin1") : "",
            );
            expect(before.startsWith(bytes[0] ?? "")).toBe(true);
            expect((parts[1] ?? "").replace(/=/g, "").length).toBeLessThanOrEqual(Math.ceil((rest * 8) / 6));
          }
        }
      }
    }
  });

  it("in another letter case is not redacted", () => {
    rememberSecret("Summer-2026-inventory!");
    const spelled = base64("Summer-2026-inventory!");
    expect(redact(spelled.toLowerCase())).toBe(spelled.toLowerCase());
    expect(redact("summer-2026-inventory!")).toBe("summer-2026-inventory!");
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
