import { InventoryClient } from "stocklot";

const client = new InventoryClient();
console.log(await client.items.get("BOLT-M8"));
