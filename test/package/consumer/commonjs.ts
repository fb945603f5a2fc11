import { InventoryClient, type Lot } from "stocklot";
import { createSandbox } from "stocklot/sandbox";

async function main(): Promise<void> {
  const { baseUrl, credentials, fetch } = createSandbox({ lots: 300 });
  const client = new InventoryClient({ baseUrl, ...credentials, fetch });
  const lots: Lot[] = await client.inventory.listLots().toArray();
  await client.close();
  console.log(`${lots.length} lots`);
}

void main();
