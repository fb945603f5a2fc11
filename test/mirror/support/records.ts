import fc from "fast-check";
import { type ColumnType, type MirrorRecord, type MirrorResource, tableOf } from "../../../src/mirror/tables.js";
import { newLot } from "../../support/records.js";

/** A lot as the service returns it. */
export const lot = (recNo: number, changes: object = {}): MirrorRecord => ({
  ...newLot({ recNo, partNo: 1_000 + (recNo % 7), shortID: "BOLT-M8", description: "Hexagon bolt" }),
  ...{ spot: "A-01", units: 12.5, serial: `S${recNo}` },
  ...changes,
});

/** Returns a record as a copy returns it: documented fields that were missing are null. */
export function asRead(resource: MirrorResource, record: MirrorRecord): MirrorRecord {
  const nulls = Object.fromEntries(Object.keys(tableOf(resource).columns).map((name) => [name, null]));
  return { ...nulls, ...record };
}

/** Strings with everything that JSON allows: NUL, unpaired surrogates, text that looks like an escape sequence. */
const anyText = () =>
  fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
    fc.constantFrom(
      "",
      "\0",
      "a\0b",
      "\ud800",
      "\udc00x",
      "\\u0000",
      "\\\\u0041",
      "\\u005cu0000",
      "\\",
      "null",
      "NULL",
      "{}",
      "\\N",
      "'",
      '"',
      "1e5",
      "t",
    ),
  );

const anyNumber = () =>
  fc.oneof(
    fc.double({ noNaN: true }),
    fc.maxSafeInteger(),
    fc.constantFrom(
      0,
      -0,
      0.1,
      5e-324,
      Number.MAX_VALUE,
      2.3e-308,
      1e-20,
      -1e-20,
      Number.EPSILON,
      Number.POSITIVE_INFINITY,
      2 ** 53,
      -(2 ** 63),
      1e21,
      1e-7,
    ),
  );

/**
 * Whether a name is not a single character that JSON escapes. JSON.parse of V8 13.6 (Node.js 24) may confuse two such names:
 * {"a":1,"\\n":null} yields the name of a backslash if an object with that name was parsed before.
 */
const isSafeName = (name: string) => JSON.stringify(name).length === name.length + 2 || name.length !== 1;

const anyJson = () =>
  fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constant(null),
      fc.boolean(),
      anyNumber(),
      anyText(),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(anyText().filter(isSafeName), tie("value"), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).value;

const ofType: Record<ColumnType, () => fc.Arbitrary<unknown>> = {
  text: anyText,
  boolean: fc.boolean,
  integer: fc.maxSafeInteger,
  decimal: anyNumber,
};

/** Names with a meaning in databases or JavaScript, and names of columns in another letter case. */
const anyName = () =>
  fc.oneof(
    anyText(),
    fc.constantFrom("extra", "recno", "PARTNO", "__proto__", "constructor", "toString", "rowid", "id"),
  );

/** A record of a response that was not validated: any field may be missing, null, or of another type. */
export function anyRecord(resource: MirrorResource, key: number): fc.Arbitrary<MirrorRecord> {
  const table = tableOf(resource);
  const { columns } = table;
  // If a key has several fields, only the last field differs between records.
  const keys = Object.fromEntries(table.key.map((field, index) => [field, index === table.key.length - 1 ? key : 3]));
  const documented = Object.entries(columns).map(([name, type]) => [
    name,
    fc.oneof({ weight: 6, arbitrary: ofType[type]() }, fc.constant(null), fc.constant(undefined), anyJson()),
  ]);
  return fc
    .tuple(
      fc.record(Object.fromEntries(documented)),
      fc.dictionary(anyName().filter(isSafeName), anyJson(), { maxKeys: 3, noNullPrototype: true }),
    )
    .map(([fields, others]) => {
      const given = Object.entries({ ...others, ...fields }).filter(([, value]) => value !== undefined);
      return { ...Object.fromEntries(given), ...keys } as object as MirrorRecord;
    });
}
