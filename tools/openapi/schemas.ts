import { z } from "zod";
import { pageEnvelopeSchema } from "../../src/client/lists/decode-page.js";
import { itemSchema } from "../../src/service/item.js";
import { createItemInputSchema, itemChangesSchema } from "../../src/service/item-input.js";
import { lotSchema } from "../../src/service/lot.js";
import { stockLevelSchema } from "../../src/service/stock-level.js";
import { tokenResponseSchema } from "../../src/service/token.js";
import { issueInputSchema, moveInputSchema, receiveInputSchema } from "../../src/service/transaction.js";
import { commentsOf } from "./doc-comments.js";
import { ERROR_SCHEMAS } from "./errors.js";
import type { JsonObject } from "./json.js";

/** A schema of the client, and the descriptions of it and its fields. */
interface Component {
  readonly schema: z.ZodType;
  readonly about: string;
  readonly fields: ReadonlyMap<string, string>;
}

type Fields = Readonly<Record<string, string>>;

/** Returns a schema with the comments of its interface in `src`, and with descriptions that exist only here. */
function documented(schema: z.ZodType, file: string, name: string, more = "", fields: Fields = {}): Component {
  const comments = commentsOf(file, name);
  return {
    schema,
    about: [comments.interface, more].filter(Boolean).join(" "),
    fields: new Map([...comments.fields, ...Object.entries(fields)]),
  };
}

const described = (schema: z.ZodType, about: string, fields: Fields): Component => ({
  schema,
  about,
  fields: new Map(Object.entries(fields)),
});

const page = (record: z.ZodType, of: string): Component => ({
  ...documented(pageEnvelopeSchema(record), "client/lists/page.ts", "Page", "", { value: "The records of this page." }),
  about: `One page of ${of}.`,
});

const reference = (status: string, about: string) =>
  described(z.object({ shortID: z.string(), status: z.literal(status) }), about, {
    shortID: "SKU of the item.",
    status: "The operation that was applied.",
  });

const UNKNOWN_FIELDS = "What the service does with fields that are not listed is not shown.";

const COMPONENTS: Readonly<Record<string, Component>> = {
  Item: documented(
    itemSchema(),
    "service/item.ts",
    "Item",
    "An item may also carry `createdBy`, which an update preserves; its type is not shown.",
  ),
  Lot: documented(lotSchema(), "service/lot.ts", "Lot"),
  StockLevel: documented(stockLevelSchema(), "service/stock-level.ts", "StockLevel"),
  ItemPage: page(itemSchema(), "items"),
  LotPage: page(lotSchema(), "lots"),
  StockLevelPage: page(stockLevelSchema(), "stock levels"),
  CreateItem: documented(
    createItemInputSchema(),
    "service/item-input.ts",
    "CreateItemInput",
    "Any other field of an item may be sent as well. Whether the names `unit` and `categoryID` are accepted for `uOM` and `category` is not shown.",
  ),
  UpdateItem: documented(
    itemChangesSchema().extend({ shortID: z.string() }),
    "service/item-input.ts",
    "ItemChanges",
    "Fields that are left out stay as they are. `partNo`, `created` and `createdBy` are preserved whatever is sent.",
    { shortID: "SKU of the item to change; cannot itself be changed." },
  ),
  CreatedItem: documented(
    itemSchema().extend({ active: z.boolean() }),
    "service/item.ts",
    "Item",
    "The form that a create responds with.",
    { active: "True on a new item." },
  ),
  CreatedReference: reference("created", "Names the item that was created."),
  UpdatedReference: reference("updated", "Names the item that was changed."),
  DiscontinuedReference: reference("discontinued", "Names the item that was discontinued."),
  Receive: documented(receiveInputSchema(), "service/transaction.ts", "ReceiveInput", UNKNOWN_FIELDS),
  Move: documented(
    moveInputSchema(),
    "service/transaction.ts",
    "MoveInput",
    `${UNKNOWN_FIELDS} That \`units\` must be above 0 is documented for a receipt and an issue; a move asks for it here too.`,
  ),
  Issue: documented(issueInputSchema(), "service/transaction.ts", "IssueInput", UNKNOWN_FIELDS),
  TokenRequest: described(
    z.object({ grant_type: z.literal("client_credentials"), client_id: z.string(), client_secret: z.string() }),
    "The client-credentials grant.",
    { grant_type: "The kind of grant.", client_id: "Client ID.", client_secret: "Client secret." },
  ),
  Token: described(
    tokenResponseSchema().required().extend({ token_type: z.string(), expires_in: z.int() }),
    "A token.",
    {
      access_token: "Bearer token.",
      token_type: "The value `bearer`.",
      expires_in: "Token lifetime. Its unit is not shown; seconds are usual.",
    },
  ),
};

/** Returns the schemas of the document, created from the schemas with which the client validates. */
export function schemas(): JsonObject {
  const registry = z.registry<{ id: string }>();
  for (const [id, { schema }] of Object.entries(COMPONENTS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    // The service accepts objects with more fields.
    io: "input",
    unrepresentable: "any",
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => tidy(jsonSchema),
  });
  const made = Object.entries(COMPONENTS).map(([id, component]) => [id, withComments(id, schemas[id], component)]);
  return { ...Object.fromEntries(made), ...ERROR_SCHEMAS };
}

/** Removes what zod adds and the service does not document. Writes nullable types as `["string", "null"]`, as tools prefer. */
function tidy(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  // Only the client refuses unknown fields.
  delete schema.additionalProperties;
  const [first, second, ...more] = schema.anyOf ?? [];
  if (first && second?.type === "null" && typeof first.type === "string" && more.length === 0) {
    delete schema.anyOf;
    Object.assign(schema, first, { type: [first.type, "null"] });
  }
}

function withComments(id: string, schema: z.core.JSONSchema.BaseSchema | undefined, component: Component): JsonObject {
  const { properties = {}, required = [] } = schema ?? {};
  const described = Object.entries(properties).map(([name, property]) => {
    const description = component.fields.get(name);
    if (!description) throw new Error(`The field ${name} of ${id} has no comment.`);
    // A schema that JSON Schema cannot express needs a `meta` with the type that is sent.
    if (typeof property !== "object" || Object.keys(property).length === 0) {
      throw new Error(`The field ${name} of ${id} has no type.`);
    }
    return [name, { ...property, description }];
  });
  return { type: "object", description: component.about, required, properties: Object.fromEntries(described) };
}
