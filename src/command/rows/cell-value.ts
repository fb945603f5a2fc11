import { Big } from "big.js";
import * as z from "zod";

export const withoutOptional = (schema: z.ZodType | undefined) =>
  schema instanceof z.ZodOptional ? schema.unwrap() : schema;

/** `.5` and `1.` are numbers, too: many programs write them so. */
export const NUMBER_PATTERN = /^[+-]?(\d+\.?\d*|\.\d+)$/;

/** A cell as the field's type; the text itself if it is none, or has digits that a number loses, so that validation reports it. */
export function cellValue(cell: string, schema: z.ZodType | undefined): string | number | boolean {
  const inner = withoutOptional(schema);
  if (inner instanceof z.ZodNumber && NUMBER_PATTERN.test(cell)) {
    return new Big(cell.replace("+", "")).eq(new Big(Number(cell))) ? Number(cell) : cell;
  }
  if (inner instanceof z.ZodBoolean && /^(true|false)$/i.test(cell)) return /^true$/i.test(cell);
  return cell;
}
