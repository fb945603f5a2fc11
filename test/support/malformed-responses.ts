import fc from "fast-check";

/** Keys that break careless code. */
const TRAPS = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then", "toJSON", "length", ""];

/** One JSON value as a string, since `JSON.stringify` cannot produce every valid JSON. */
const anyJson: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom("null", "true", "false", "0", "-1", "1.5", '""', "[]", "{}", '"2026-02-30T25:00:00Z"'),
    fc.constantFrom("1e400", "-1e400", "9007199254740993", "1e-400", "0.1234567890123456789", "-0", "1E5"),
    fc.string({ unit: "binary", maxLength: 12 }).map((text) => JSON.stringify(text)),
    fc.array(tie("value"), { maxLength: 4 }).map((values) => `[${values.join(",")}]`),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom(...TRAPS), fc.string({ maxLength: 6 })), tie("value")), { maxLength: 4 })
      .map((entries) => `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`),
    fc.constant('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
  ),
})).value;

const nested = fc
  .tuple(fc.constantFrom(["[", "]"], ['{"a":', "}"], ['{"value":[', "]}"]), fc.constantFrom(100, 5_000, 200_000))
  .map(([[open, close], depth]) => `${open?.repeat(depth)}1${close?.repeat(depth)}`);

/** Generates a valid response in which some values are replaced by other values or by null. */
function mutated(valid: object): fc.Arbitrary<string> {
  const text = JSON.stringify(valid);
  // Finds values after a colon, up to the next comma or bracket, at any depth.
  const positions = [...text.matchAll(/:("[^"]*"|[^,{}[\]"]+)/g)];
  return fc
    .array(fc.tuple(fc.nat({ max: Math.max(0, positions.length - 1) }), fc.oneof(anyJson, fc.constant(undefined))), {
      minLength: 1,
      maxLength: 3,
    })
    .map((changes) => {
      let mutated = text;
      for (const [position, value] of [...changes].sort(([a], [b]) => b - a)) {
        const match = positions[position];
        if (match)
          mutated = `${mutated.slice(0, match.index)}:${value ?? "null"}${mutated.slice(match.index + match[0].length)}`;
      }
      return mutated;
    });
}

/** Generates malformed responses to a call with this valid response: from one wrong value to arbitrary strings. */
export const malformedResponse = (valid: object): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: mutated(valid) },
    { weight: 3, arbitrary: anyJson },
    {
      weight: 1,
      arbitrary: anyJson.map(
        (value) => `{"value":[${value}],"totalCount":1,"page":1,"pageSize":250,"pageCount":1,"hasMore":false}`,
      ),
    },
    { weight: 1, arbitrary: nested },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  );

/** Bytes that are not UTF-8, alone or inside a valid response. */
export const invalidUtf8 = (valid: object): fc.Arbitrary<Buffer> =>
  fc.oneof(
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc
      .tuple(fc.nat({ max: JSON.stringify(valid).length }), fc.uint8Array({ minLength: 1, maxLength: 4 }))
      .map(([at, bytes]) => {
        const text = Buffer.from(JSON.stringify(valid));
        return Buffer.concat([text.subarray(0, at), bytes, text.subarray(at)]);
      }),
    fc
      .constantFrom("utf16le" as const, "latin1" as const)
      .map((encoding) => Buffer.from(JSON.stringify(valid), encoding)),
  );
