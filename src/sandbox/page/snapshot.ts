import type { LoggedRequest } from "../request-log.js";
import type { Service } from "../service.js";
import type { WarehouseSummary } from "../store/stock-summary.js";
import type { Transaction } from "../transactions.js";

const SHOWN_REQUESTS = 50;

/** What the page shows. */
export interface PageSnapshot {
  readonly warehouses: readonly (WarehouseSummary & { readonly wID: number; readonly name: string })[];
  /** Latest first. */
  readonly requests: readonly Omit<LoggedRequest, "body">[];
  /** Latest first. */
  readonly transactions: readonly Transaction[];
  readonly rate: readonly { readonly key: string; readonly used: number; readonly limit: number }[];
  readonly intervalMs: number;
}

export function pageSnapshot(service: Service, transactions: readonly Transaction[]): PageSnapshot {
  const { state, access, clock, log, settings } = service;
  return {
    warehouses: [...state.warehouses].map(([wID, name]) => ({ wID, name, ...state.stock.summary(wID) })),
    requests: log.entries.slice(-SHOWN_REQUESTS).reverse().map(withoutBody),
    transactions,
    rate: access.rateUsages(clock.now()).map(({ key, usage }) => ({ key, used: usage.used, limit: usage.limit })),
    intervalMs: settings.rateLimit ? settings.rateLimit.intervalMs : 0,
  };
}

function withoutBody({ body: _body, ...entry }: LoggedRequest): Omit<LoggedRequest, "body"> {
  return entry;
}
