import fc from "fast-check";

/** Keys that trip up careless code. */
const TRAPS = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then", "toJSON", "length", ""];

/** Text of one JSON value, however odd. Text, since not every JSON can be made by `JSON.stringify`. */
const oddJson: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
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

/** A right answer with some of its values replaced, taken out or doubled. */
function spoiled(right: object): fc.Arbitrary<string> {
  const text = JSON.stringify(right);
  // What stands behind a colon, up to the next comma or bracket: enough to hit fields at any depth.
  const spots = [...text.matchAll(/:("[^"]*"|[^,{}[\]"]+)/g)];
  return fc
    .array(fc.tuple(fc.nat({ max: Math.max(0, spots.length - 1) }), fc.oneof(oddJson, fc.constant(undefined))), {
      minLength: 1,
      maxLength: 3,
    })
    .map((changes) => {
      let odd = text;
      for (const [spot, value] of [...changes].sort(([a], [b]) => b - a)) {
        const match = spots[spot];
        if (match) odd = `${odd.slice(0, match.index)}:${value ?? "null"}${odd.slice(match.index + match[0].length)}`;
      }
      return odd;
    });
}

/** Answers to a call whose right answer this is, from almost right to none of it. */
export const oddAnswer = (right: object): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: spoiled(right) },
    { weight: 3, arbitrary: oddJson },
    {
      weight: 1,
      arbitrary: oddJson.map(
        (value) => `{"value":[${value}],"totalCount":1,"page":1,"pageSize":250,"pageCount":1,"hasMore":false}`,
      ),
    },
    { weight: 1, arbitrary: nested },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  );

/** Bytes that are no text in UTF-8, or a text with some of them in it. */
export const oddBytes = (right: object): fc.Arbitrary<Buffer> =>
  fc.oneof(
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc
      .tuple(fc.nat({ max: JSON.stringify(right).length }), fc.uint8Array({ minLength: 1, maxLength: 4 }))
      .map(([at, bytes]) => {
        const text = Buffer.from(JSON.stringify(right));
        return Buffer.concat([text.subarray(0, at), bytes, text.subarray(at)]);
      }),
    fc
      .constantFrom("utf16le" as const, "latin1" as const)
      .map((encoding) => Buffer.from(JSON.stringify(right), encoding)),
  );
