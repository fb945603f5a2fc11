import type {
  SandboxClient,
  SandboxItem,
  SandboxLot,
  SandboxOptions,
  SandboxRateLimit,
  SandboxWarehouse,
} from "./options.js";

/** The caller's options with every gap filled in. */
export interface Settings extends Required<Omit<SandboxOptions, "aliases" | "stockLevels" | "reasonCodes">> {
  readonly clients: readonly [SandboxClient, ...SandboxClient[]];
  readonly warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]];
  readonly items: number | readonly SandboxItem[];
  readonly lots: number | readonly SandboxLot[];
  readonly rateLimit: Required<SandboxRateLimit> | false;
  readonly latencyMs: readonly [min: number, max: number];
  readonly aliases: SandboxOptions["aliases"];
  readonly stockLevels: SandboxOptions["stockLevels"];
  readonly reasonCodes: SandboxOptions["reasonCodes"];
}

const DEFAULT_ITEMS = 250;
const DEFAULT_LOTS = 2000;

const DEFAULT_CLIENT: SandboxClient = { clientId: "sandbox-client", clientSecret: "sandbox-secret" };

const DEFAULT_WAREHOUSES: [SandboxWarehouse, ...SandboxWarehouse[]] = [
  { wID: 1, name: "Central" },
  { wID: 2, name: "North" },
  { wID: 3, name: "South" },
  { wID: 4, name: "Returns" },
];

const DEFAULT_RATE_LIMIT: Required<SandboxRateLimit> = {
  requests: 100,
  intervalMs: 60_000,
  window: "sliding",
  per: "client",
  retryAfter: false,
  countRefused: false,
};

/** Fills in the defaults. Throws a `TypeError` for an option that does not exist or cannot be meant. */
export function settingsFrom(options: SandboxOptions): Settings {
  refuseUnknown(options);
  const { items, lots, ...rest } = options;
  const settings: Settings = {
    ...DEFAULTS,
    ...defined(rest),
    clients: atLeastOne("clients", options.clients ?? [DEFAULT_CLIENT]),
    warehouses: warehousesOf(options),
    items: items ?? (Array.isArray(lots) ? 0 : DEFAULT_ITEMS),
    lots: lots ?? (Array.isArray(items) ? 0 : DEFAULT_LOTS),
    rateLimit: options.rateLimit === false ? false : { ...DEFAULT_RATE_LIMIT, ...defined(options.rateLimit ?? {}) },
    latencyMs: rangeOf(options.latencyMs ?? 0),
    aliases: options.aliases,
    stockLevels: options.stockLevels,
    reasonCodes: options.reasonCodes,
  };
  refuseSenseless(settings);
  return settings;
}

const DEFAULTS = {
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
  createdBy: "omit",
  requestLogSize: 100_000,
  compression: true,
} as const;

/** A lot may lie in a warehouse that was not listed, as long as no list was given at all. */
function warehousesOf({ warehouses, lots }: SandboxOptions): [SandboxWarehouse, ...SandboxWarehouse[]] {
  if (warehouses) return atLeastOne("warehouses", warehouses);
  const [first, ...others] = DEFAULT_WAREHOUSES;
  const known = [first, ...others];
  for (const lot of typeof lots === "object" ? lots : []) {
    const { wID } = lot;
    if (wID === undefined || known.some((warehouse) => warehouse.wID === wID)) continue;
    known.push({ wID, name: lot.warehouse ?? `Warehouse ${wID}` });
  }
  return atLeastOne("warehouses", known);
}

function atLeastOne<T>(name: string, list: readonly T[]): [T, ...T[]] {
  const [first, ...others] = list;
  if (first === undefined) throw new TypeError(`Sandbox option "${name}" must not be empty.`);
  return [first, ...others];
}

function rangeOf(latency: number | readonly [number, number]): readonly [number, number] {
  return typeof latency === "number" ? [latency, latency] : latency;
}

/** Leaves out what was set to `undefined`, so that it does not hide a default. */
function defined<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> };
function defined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

const KNOWN: ReadonlySet<string> = new Set([
  ...Object.keys(DEFAULTS),
  ...["clients", "warehouses", "items", "lots", "rateLimit", "latencyMs", "aliases", "stockLevels", "reasonCodes"],
]);

function refuseUnknown(options: SandboxOptions): void {
  for (const name of Object.keys(options)) {
    if (!KNOWN.has(name)) throw new TypeError(`Unknown sandbox option "${name}".`);
  }
}

function refuseSenseless({ tokenTtlSeconds, latencyMs, rateLimit, items, lots, requestLogSize }: Settings): void {
  const [min, max] = latencyMs;
  demand("tokenTtlSeconds", tokenTtlSeconds > 0);
  demand("latencyMs", min >= 0 && max >= min);
  demand("items", typeof items === "object" || (Number.isInteger(items) && items >= 0));
  demand("lots", typeof lots === "object" || (Number.isInteger(lots) && lots >= 0));
  demand("requestLogSize", requestLogSize >= 0);
  if (rateLimit) demand("rateLimit", rateLimit.requests >= 1 && rateLimit.intervalMs > 0);
}

function demand(name: string, holds: boolean): void {
  if (!holds) throw new TypeError(`Sandbox option "${name}" has a value that makes no sense.`);
}
