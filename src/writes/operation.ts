import type {
  CreateItemInput,
  InventoryClient,
  IssueInput,
  ItemChanges,
  MoveInput,
  ReceiveInput,
  RequestOptions,
} from "../client/index.js";
import { fieldOf } from "../shared/unknown.js";

/** The writes that an outbox accepts: methods of `client.inventory` and `client.items`. */
export type OutboxOperation = "receive" | "move" | "issue" | "create" | "update" | "discontinue";

export const OUTBOX_OPERATIONS = ["receive", "move", "issue", "create", "update", "discontinue"] as const;

/** Whether a second identical write changes nothing, unless somebody else has written in between. */
export const isIdempotent = (operation: OutboxOperation) => operation === "update" || operation === "discontinue";

/** The item to discontinue or to update. */
export interface ItemReference {
  /** Its SKU. */
  shortID: string;
}

/** The input of each operation. */
export interface OutboxInputs {
  /** The input of `client.inventory.receive`. */
  receive: ReceiveInput;
  /** The input of `client.inventory.move`. */
  move: MoveInput;
  /** The input of `client.inventory.issue`. */
  issue: IssueInput;
  /** The input of `client.items.create`. */
  create: CreateItemInput;
  /** The SKU, and the changes as for `client.items.update`. */
  update: ItemChanges & ItemReference;
  /** The SKU, as for `client.items.discontinue`. */
  discontinue: ItemReference;
}

/** Returns the method of an operation. The method takes the input of an entry. */
export function methodOf({ inventory, items }: InventoryClient, operation: OutboxOperation, options: RequestOptions) {
  const methods: { [Operation in OutboxOperation]: (input: OutboxInputs[Operation]) => Promise<unknown> } = {
    receive: (input) => inventory.receive(input, options),
    move: (input) => inventory.move(input, options),
    issue: (input) => inventory.issue(input, options),
    create: (input) => items.create(input, options),
    update: ({ shortID, ...changes }) => items.update(shortID, changes, options),
    discontinue: ({ shortID }) => items.discontinue(shortID, options),
  };
  return methods[operation];
}

/** Returns the SKU of the item that the input of a write names; an empty string if it names none. */
export const skuOfInput = (input: unknown): string =>
  String(fieldOf(input, "itemID") ?? fieldOf(input, "shortID") ?? "");
