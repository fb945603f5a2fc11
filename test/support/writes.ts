import type { InventoryClient, RequestOptions } from "../../src/index.js";
import type { Write } from "./small-service.js";

/** A call of a write method, and the request that it makes. */
export interface WriteCall {
  name: Write;
  /** Whether sending the request twice has the same effect as sending it once. */
  idempotent: boolean;
  method: string;
  path: string;
  body?: object;
  call(client: InventoryClient, options?: RequestOptions): Promise<unknown>;
}

const receipt = { itemID: "BOLT", units: 12.5, wid: 3, reasonCode: 1, serial: "S-1" };
const movement = { itemID: "BOLT", units: 2, wid: 3, fromSpot: "A", toSpot: "B" };
const issue = { itemID: "BOLT", units: 2, wid: 3, reasonCode: 1 };

const transaction = (name: "receive" | "move" | "issue", path: string, body: object) => ({
  name,
  idempotent: false,
  method: "POST",
  path,
  body,
});

/** All writes of the client, each with one set of arguments. */
export const WRITES: readonly WriteCall[] = [
  {
    name: "create",
    idempotent: false,
    method: "POST",
    path: "/Item",
    body: { shortID: "NUT" },
    call: (client, options) => client.items.create({ shortID: "NUT" }, options),
  },
  {
    ...transaction("receive", "/Inventory/Receive", receipt),
    call: (client, options) => client.inventory.receive(receipt, options),
  },
  {
    ...transaction("move", "/Inventory/Move", movement),
    call: (client, options) => client.inventory.move(movement, options),
  },
  {
    ...transaction("issue", "/Inventory/Issue", issue),
    call: (client, options) => client.inventory.issue(issue, options),
  },
  {
    name: "update",
    idempotent: true,
    method: "PUT",
    path: "/Item",
    body: { shortID: "BOLT", description: "Bolt" },
    call: (client, options) => client.items.update("BOLT", { description: "Bolt" }, options),
  },
  {
    name: "discontinue",
    idempotent: true,
    method: "DELETE",
    path: "/Item/BOLT",
    call: (client, options) => client.items.discontinue("BOLT", options),
  },
];
