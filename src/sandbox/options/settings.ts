import type * as z from "zod";
import { checkConfiguration } from "../../schemas/check.js";
import { assertUniqueField, sandboxOptionError } from "../validation.js";
import type { SandboxClient, SandboxItem, SandboxLot, SandboxOptions, SandboxWarehouse } from "./options.js";
import { sandboxOptionsSchema } from "./schema.js";

type Completed = z.output<ReturnType<typeof sandboxOptionsSchema>>;

/** The caller's options, completed with defaults. */
export interface SandboxSettings extends Omit<Completed, "clients" | "warehouses" | "items" | "lots" | "latencyMs"> {
  readonly clients: readonly [SandboxClient, ...SandboxClient[]];
  readonly warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]];
  readonly items: number | readonly SandboxItem[];
  readonly lots: number | readonly SandboxLot[];
  readonly latencyMs: readonly [min: number, max: number];
}

export type SandboxRateLimitSettings = Exclude<SandboxSettings["rateLimit"], false>;

const DEFAULT_ITEM_COUNT = 250;
const DEFAULT_LOT_COUNT = 2000;

const DEFAULT_CLIENT: SandboxClient = { clientId: "sandbox-client", clientSecret: "sandbox-secret" };

const DEFAULT_WAREHOUSES: [SandboxWarehouse, ...SandboxWarehouse[]] = [
  { wID: 1, name: "Central" },
  { wID: 2, name: "North" },
  { wID: 3, name: "South" },
  { wID: 4, name: "Returns" },
];

/** Adds the defaults. Throws a `ConfigurationError` for an option that does not exist or is invalid. */
export function resolveSandboxSettings(options: SandboxOptions): SandboxSettings {
  checkConfiguration("createSandbox", sandboxOptionsSchema(), options, { quotesStrings: true });
  // They were checked, and stay as they are.
  const { items, lots, ...rest } = options;
  const { latencyMs, ...completed } = sandboxOptionsSchema().parse(rest);
  const clients = nonEmptyListOr(options.clients ?? [], DEFAULT_CLIENT);
  const warehouses = nonEmptyListOr(options.warehouses ?? collectWarehouses(options), DEFAULT_WAREHOUSES[0]);
  assertUniqueField("clients", "clientId", clients);
  assertUniqueField("warehouses", "wID", warehouses);
  assertClientWarehousesExist(clients, warehouses);
  return {
    ...completed,
    clients,
    warehouses,
    items: items ?? (Array.isArray(lots) ? 0 : DEFAULT_ITEM_COUNT),
    lots: lots ?? (Array.isArray(items) ? 0 : DEFAULT_LOT_COUNT),
    latencyMs: typeof latencyMs === "number" ? [latencyMs, latencyMs] : latencyMs,
  };
}

/** The default warehouses and those that the data name, if the caller lists none. Names in the data take precedence. */
function collectWarehouses({ lots, clients = [], stockLevels = [] }: SandboxOptions): SandboxWarehouse[] {
  const names = new Map(DEFAULT_WAREHOUSES.map(({ wID, name }) => [wID, name]));
  for (const { wID, warehouse } of Array.isArray(lots) ? lots : []) {
    if (wID !== undefined) names.set(wID, warehouse ?? names.get(wID) ?? defaultWarehouseName(wID));
  }
  for (const wID of [...clients.flatMap((client) => client.warehouses ?? []), ...stockLevels.map(({ wid }) => wid)]) {
    if (wID !== undefined && !names.has(wID)) names.set(wID, defaultWarehouseName(wID));
  }
  return [...names].map(([wID, name]) => ({ wID, name }));
}

const defaultWarehouseName = (wID: number) => `Warehouse ${wID}`;

/** The list, whose first entry the type then knows of; that it has one has been checked. */
function nonEmptyListOr<T>([first, ...others]: readonly T[], fallback: T): [T, ...T[]] {
  return first === undefined ? [fallback] : [first, ...others];
}

function assertClientWarehousesExist(clients: readonly SandboxClient[], warehouses: readonly SandboxWarehouse[]): void {
  const known = new Set(warehouses.map(({ wID }) => wID));
  for (const { clientId, warehouses: scope = [] } of clients) {
    const unknown = scope.find((wID) => !known.has(wID));
    if (unknown !== undefined) {
      throw sandboxOptionError(["clients"], `there is no warehouse ${unknown}, which "${clientId}" is assigned to`);
    }
  }
}

/** Without the fields that are undefined, so that they do not override a default. */
export function withoutUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> };
export function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
