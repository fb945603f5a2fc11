import type { Listing } from "./listing.js";
import type { Scope } from "./scopes.js";

/** One listing for each set of warehouses that was asked for; made at the first question. */
export class ScopedListings {
  private readonly listings = new Map<Scope, { readonly scope: ReadonlySet<number>; readonly listing: Listing }>();

  constructor(private readonly make: (scope: ReadonlySet<number>) => Listing) {}

  of(scope: Scope): Listing {
    let known = this.listings.get(scope);
    if (!known) {
      const warehouses = new Set(scope);
      known = { scope: warehouses, listing: this.make(warehouses) };
      this.listings.set(scope, known);
    }
    return known.listing;
  }

  /** Every listing that shows this warehouse. */
  each(wID: number, visit: (listing: Listing, scope: ReadonlySet<number>) => void): void {
    for (const { scope, listing } of this.listings.values()) if (scope.has(wID)) visit(listing, scope);
  }

  all(visit: (listing: Listing) => void): void {
    for (const { listing } of this.listings.values()) visit(listing);
  }
}
