import { checkConfiguration } from "../../schemas/check.js";
import { assertUniqueField, sandboxOptionError } from "../validation.js";
import type {
  SandboxClient,
  SandboxItem,
  SandboxLot,
  SandboxOptions,
  SandboxRateLimit,
  SandboxWarehouse,
} from "./options.js";
import { sandboxOptionsSchema } from "./schema.js";

/** The same fields, none of which can be missing or undefined. */
type AllDefined<T> = { [K in keyof T]-?: Exclude<T[K], undefined> };

export type SandboxRateLimitSettings = AllDefined<SandboxRateLimit>;

/** The caller's options, completed with defaults. */
export interface SandboxSettings extends AllDefined<Omit<SandboxOptions, "aliases" | "stockLevels" | "reasonCodes">> {
  readonly clients: readonly [SandboxClient, ...SandboxClient[]];
  readonly warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]];
  readonly items: number | readonly SandboxItem[];
  readonly lots: number | readonly SandboxLot[];
  readonly rateLimit: SandboxRateLimitSettings | false;
  readonly latencyMs: readonly [min: number, max: number];
  readonly aliases: SandboxOptions["aliases"];
  readonly stockLevels: SandboxOptions["stockLevels"];
  readonly reasonCodes: SandboxOptions["reasonCodes"];
}

const DEFAULT_ITEM_COUNT = 250;
const DEFAULT_LOT_COUNT = 2000;

const DEFAULT_CLIENT: SandboxClient = { clientId: "sandbox-client", clientSecret: "sandbox-secret" };

const DEFAULT_WAREHOUSES: [SandboxWarehouse, ...SandboxWarehouse[]] = [
  { wID: 1, name: "Central" },
  { wID: 2, name: "North" },
  { wID: 3, name: "South" },
  { wID: 4, name: "Returns" },
];

const DEFAULT_RATE_LIMIT: SandboxRateLimitSettings = {
  requests: 100,
  intervalMs: 60_000,
  window: "sliding",
  per: "client",
  retryAfter: false,
  countRefused: false,
};

/** Adds the defaults. Throws a `ConfigurationError` for an option that does not exist or is invalid. */
export function resolveSandboxSettings(options: SandboxOptions): SandboxSettings {
  checkConfiguration("createSandbox", sandboxOptionsSchema(), options, { quotesStrings: true });
  const { items, lots, ...rest } = options;
  const clients = nonEmptyListOr(options.clients ?? [], DEFAULT_CLIENT);
  const warehouses = nonEmptyListOr(options.warehouses ?? collectWarehouses(options), DEFAULT_WAREHOUSES[0]);
  assertUniqueField("clients", "clientId", clients);
  assertUniqueField("warehouses", "wID", warehouses);
  assertClientWarehousesExist(clients, warehouses);
  return {
    ...DEFAULT_SETTINGS,
    ...withoutUndefined(rest),
    clients,
    warehouses,
    items: items ?? (Array.isArray(lots) ? 0 : DEFAULT_ITEM_COUNT),
    lots: lots ?? (Array.isArray(items) ? 0 : DEFAULT_LOT_COUNT),
    rateLimit:
      options.rateLimit === false ? false : { ...DEFAULT_RATE_LIMIT, ...withoutUndefined(options.rateLimit ?? {}) },
    latencyMs: toLatencyRange(options.latencyMs ?? 0),
    aliases: options.aliases,
    stockLevels: options.stockLevels,
    reasonCodes: options.reasonCodes,
  };
}

const DEFAULT_SETTINGS = {
  seed: 1,
  tokenTtlSeconds: 3600,
  now: () => Date.now(),
  faults: [],
  createForm: "reference",
  duplicateStatus: 409,
  alternateNames: true,
  receiveForm: "object",
  moveForm: "object",
  issueForm: "object",
  receiveStatus: 201,
  tokenFailureStatus: 401,
  tokenFailureForm: "envelope",
  expiresInForm: "number",
  unknownItemStatus: 400,
  shortageStatus: 400,
  unknownWarehouse: "forbidden",
  heldLots: "allow",
  invalidPaging: "clamp",
  modifiedSinceOn: ["items", "lots", "stockLevels"],
  sortOn: ["items", "lots", "stockLevels"],
  createdBy: "omit",
  requestLogSize: 100_000,
  compression: true,
} as const;

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

function toLatencyRange(latency: number | readonly [number, number]): readonly [number, number] {
  return typeof latency === "number" ? [latency, latency] : latency;
}

/** Without the fields that are undefined, so that they do not override a default. */
export function withoutUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> };
export function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
