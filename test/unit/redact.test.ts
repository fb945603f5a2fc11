import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { redact, redactCause, redactData, Secrets } from "../../src/errors/redact.js";

const SECRET = 'p@ss (\\"word"~)/+&=ü';

describe("redaction", () => {
  const secrets = new Secrets([SECRET, "s3cret", "a"]);
  secrets.addToken("token-0123456789");

  it.each([
    ["a secret", `refused: ${SECRET}.`],
    ["a form-encoded secret", `refused: ${new URLSearchParams({ client_secret: SECRET })}`],
    ["a secret in a path", `GET /Item/${encodeURIComponent(SECRET)}`],
    ["a secret within JSON", JSON.stringify({ sent: SECRET })],
    ["a secret within JSON within JSON", JSON.stringify({ body: JSON.stringify({ sent: SECRET }) })],
    ["a secret as Node shows it", inspect({ sent: SECRET })],
    ["a token", "Bearer token-0123456789 is unknown"],
    ["a token within a word", "xtoken-0123456789x"],
    ["a short secret on its own", "refused: s3cret"],
  ])("hides %s", (_, text) => {
    const shown = redact(text);
    expect(shown).toContain("[redacted]");
    expect(shown).not.toMatch(/p(@|%40)ss/);
    for (const secret of [SECRET, "token-0123456789", "s3cret"]) expect(shown).not.toContain(secret);
  });

  it("hides what stands where credentials stand, also where nobody told of them", () => {
    expect(redact('{"access_token":"unheard-of","x":1}')).toBe('{"access_token":"[redacted]","x":1}');
    expect(redact("client_secret=unheard-of&x=1")).toBe("client_secret=[redacted]&x=1");
    expect(redact("Authorization: Bearer abcdefghij0123456789==")).toBe("Authorization: Bearer [redacted]");
  });

  it("leaves ordinary text alone", () => {
    const text = "A bearer of bad news: the token endpoint refused as3cretly";
    expect(redact(text)).toBe(text);
  });

  it("reaches into data, and changes none of it in place", () => {
    const data = Object.freeze({ list: Object.freeze([SECRET]), [SECRET]: 1, date: new Date(0) });
    expect(inspect(redactData(data))).not.toContain("p@ss");
    expect(data.list[0]).toBe(SECRET);
  });

  it("keeps a harmless cause as it is and replaces one that shows a secret anywhere", () => {
    const harmless = new Error("connection reset");
    expect(redactCause(harmless)).toBe(harmless);
    const telling = Object.assign(new Error("bad"), { code: "E_BAD", request: { headers: { a: { b: SECRET } } } });
    const copy = redactCause(telling);
    expect(copy).toMatchObject({ message: "bad", code: "E_BAD" });
    expect(inspect(copy, { depth: 9 })).not.toContain("p@ss");
    const parser = Object.assign(new Error("parse"), { data: Buffer.from("token-0123456789") });
    expect(redactCause(parser)).not.toHaveProperty("data");
  });

  it("forgets old tokens, but not the last ones", () => {
    for (let count = 0; count < 20; count += 1) secrets.addToken(`later-token-${count}`);
    expect(redact("later-token-19 later-token-18")).toBe("[redacted] [redacted]");
  });
});
