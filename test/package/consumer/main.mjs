import { InventoryClient, NotFoundError } from "stocklot";
import { createSandbox } from "stocklot/sandbox";
import { readLots } from "./read-lots.cjs";

readLots({ InventoryClient, NotFoundError, createSandbox });
