const OPENING = Buffer.from('{"value":[');
const COMMA = 0x2c;

/** The common envelope: the records' JSON, and after them the JSON of the numbers, which is ASCII. */
export function pageBody(records: readonly Buffer[], numbers: string): Buffer {
  const closing = `],${numbers}}`;
  let length = OPENING.length + Math.max(0, records.length - 1) + closing.length;
  for (const record of records) length += record.length;

  const body = Buffer.allocUnsafe(length);
  body.set(OPENING);
  let position = OPENING.length;
  for (const record of records) {
    if (position > OPENING.length) body[position++] = COMMA;
    body.set(record, position);
    position += record.length;
  }
  body.write(closing, position, "latin1");
  return body;
}
