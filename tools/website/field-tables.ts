/** Generates the tables of docs/reference.md from openapi.json. */
import { z } from "zod";

const fieldSchema = z.object({
  type: z.union([z.string(), z.array(z.string())]),
  format: z.string().optional(),
  description: z.string(),
});

const documentSchema = z.object({
  components: z.object({
    schemas: z.record(
      z.string(),
      z.object({ properties: z.record(z.string(), fieldSchema).optional(), required: z.array(z.string()).optional() }),
    ),
  }),
  paths: z.record(z.string(), z.record(z.string(), z.object({ description: z.string().optional() }))),
});

type Field = z.infer<typeof fieldSchema>;

/** The OpenAPI document, as far as the tables need it. */
export type OpenApiDocument = z.infer<typeof documentSchema>;

/** The methods whose inputs a table shows, and the schemas of the inputs. */
const INPUTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Item: { create: "CreateItem", update: "UpdateItem" },
  Transaction: { receive: "Receive", move: "Move", issue: "Issue" },
};

const GENERATED = /(<!-- begin: (fields|permissions) ?(\w*) -->\n)[\s\S]*?(<!-- end: \2 ?\3 -->)/g;

/** Returns the guide with current tables. */
export function withTables(guide: string, openApi: unknown): string {
  const document = documentSchema.parse(openApi);
  return guide.replace(GENERATED, (_, begin: string, kind: string, schema: string, end: string) => {
    const table = kind === "fields" ? fieldTable(document, schema) : permissionTable(document);
    return `${begin}${table}${end}`;
  });
}

interface Input {
  readonly method: string;
  readonly properties: Readonly<Record<string, Field>>;
  readonly required: readonly string[];
}

function fieldTable({ components: { schemas } }: OpenApiDocument, name: string): string {
  const inputs: Input[] = Object.entries(INPUTS[name] ?? {}).map(([method, schema]) => ({
    method,
    properties: schemas[schema]?.properties ?? {},
    required: schemas[schema]?.required ?? [],
  }));
  const record = schemas[name]?.properties ?? {};
  const fields: Record<string, Field> = Object.assign({}, ...inputs.map(({ properties }) => properties));
  const rows = Object.entries({ ...record, ...fields }).map(([field, schema]) => [
    `\`${field}\``,
    record[field] ? meaningOf(record[field]) : meaningIn(inputs, field),
    typeOf(schema),
    ...(inputs.length > 0 ? [inputsWith(inputs, field)] : []),
  ]);
  return tableOf(["name", "meaning", "type", ...(inputs.length > 0 ? ["input of"] : [])], rows);
}

/** Returns the methods that take a field, and whether the field is required. */
function inputsWith(inputs: readonly Input[], field: string): string {
  const having = inputs.filter(({ properties }) => field in properties);
  const isRequired = having.length > 0 && having.every(({ required }) => required.includes(field));
  return having.map(({ method }) => method).join(", ") + (isRequired ? ": required" : "");
}

/** Returns the meaning of a field of several inputs. If all comments contain the words of one comment, that one is enough. */
function meaningIn(inputs: readonly Input[], field: string): string {
  const methods = new Map<string, string[]>();
  for (const { method, properties } of inputs) {
    const schema = properties[field];
    if (schema) methods.set(meaningOf(schema), [...(methods.get(meaningOf(schema)) ?? []), method]);
  }
  const words = (text: string): readonly string[] => text.match(/\w+/g) ?? [];
  const meanings = [...methods.keys()];
  const shortest = meanings.find((one) =>
    meanings.every((each) => words(one).every((word) => words(each).includes(word))),
  );
  return shortest ?? [...methods].map(([meaning, names]) => `${names.join(", ")}: ${meaning}`).join(" ");
}

/** Returns the comment without unit and format, which the column of the type shows. */
const meaningOf = ({ description }: Field): string =>
  description
    .replace(/, in the item's unit of measure( \(`uOM`\))?(, like .*(?=\.))?/, "")
    .replace(/: ISO 8601(?! UTC)/, "")
    .replace(/; [\w ]*unit not documented by the service/, "");

function typeOf({ type, format, description }: Field): string {
  const types = [type].flat();
  const [first = ""] = types;
  const name = format === "date-time" ? "datetime" : first === "number" ? `decimal ${unitOf(description)}` : first;
  return types.includes("null") ? `${name} or null` : name;
}

/** Returns the unit of a number, which its comment must state. */
function unitOf(description: string): string {
  if (description.includes("currency and unit not documented")) return "(currency and unit not documented)";
  if (description.includes("not documented")) return "(unit not documented)";
  if (description.includes("unit of measure")) return "(`uOM`)";
  throw new Error(
    `No unit is known for a number with the comment ${JSON.stringify(description)}. If the comment names its unit, add the unit to unitOf in tools/website/field-tables.ts.`,
  );
}

function permissionTable({ paths }: OpenApiDocument): string {
  const requests = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { description = "" }] of Object.entries(operations)) {
      const [, permission, id] = /Needs the permission (.+) \(SecurityID (\d+)\)/.exec(description) ?? [];
      if (!permission) continue;
      const key = `${permission} | ${id}`;
      requests.set(key, [...(requests.get(key) ?? []), `\`${method.toUpperCase()} ${path}\``]);
    }
  }
  const rows = [...requests].map(([permission, needing]) => [permission, needing.join(", ")]);
  return tableOf(["permission | security ID", "needed for"], rows);
}

function tableOf(columns: string[], rows: string[][]): string {
  const width = columns.join(" | ").split(" | ").length;
  const lines = [columns, Array<string>(width).fill("---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}
