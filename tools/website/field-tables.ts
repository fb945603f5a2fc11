/** The tables of docs/data.md, generated from openapi.json. */
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

/** What the tables are generated from. */
export type OpenApiDocument = z.infer<typeof documentSchema>;

/** The objects and endpoints of the service's document that describe the fields, by schema. */
const RECORDS: Readonly<Record<string, string>> = {
  Item: "Item",
  Lot: "Lot",
  StockLevel: "Stock level",
  ItemPage: "Envelope",
};

const INPUTS: Readonly<Record<string, string>> = {
  Receive: "Receive",
  Move: "Move",
  Issue: "Issue",
  CreateItem: "Create",
  UpdateItem: "Update",
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

function fieldTable({ components }: OpenApiDocument, name: string): string {
  const { properties = {}, required = [] } = components.schemas[name] ?? {};
  const isRecord = name in RECORDS;
  const source = RECORDS[name] ?? INPUTS[name];
  if (!source) throw new Error(`There is no source of ${name}`);
  const rows = Object.entries(properties).map(([field, schema]) => [
    `\`${field}\``,
    schema.description,
    typeOf(schema),
    (isRecord ? schema.type.includes("null") : required.includes(field)) ? "yes" : "no",
    unitOf(schema),
    source,
  ]);
  return tableOf(["name", "meaning", "type", isRecord ? "nullable" : "required", "unit", "source"], rows);
}

function typeOf({ type, format }: Field): string {
  if (format === "date-time") return "datetime";
  const [first = ""] = [type].flat();
  return first === "number" ? "decimal" : first;
}

/** The comment on a field states its unit. */
function unitOf({ type, format, description }: Field): string {
  if (format === "date-time") return "ISO 8601";
  if (![type].flat().includes("number")) return "";
  if (description.includes("not documented")) return "not documented";
  if (description.includes("unit of measure")) return "`uOM`";
  throw new Error(`A number has no unit: ${description}`);
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
