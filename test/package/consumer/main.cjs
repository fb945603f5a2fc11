const { InventoryClient, NotFoundError } = require("stocklot");
const { createSandbox } = require("stocklot/sandbox");
const { readLots } = require("./read-lots.cjs");

readLots({ InventoryClient, NotFoundError, createSandbox });
