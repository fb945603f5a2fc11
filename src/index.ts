/**
 * The client: `InventoryClient`, its options, the inputs and results of its methods, and every error.
 *
 * @module stocklot
 */
export * from "./client/index.js";
