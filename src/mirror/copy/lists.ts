import { type MirrorKey, type MirrorResource, RESOURCES } from "../tables.js";

/** A list of the service that is mirrored. A resource is one list, except stock levels per warehouse: one per warehouse. */
export interface MirrorList<R extends MirrorResource = MirrorResource> {
  /** The name of the list in the saved state: `"lots"`, or `"warehouseStockLevels/3"`. */
  id: string;
  resource: R;
  /** The warehouse, of a list that has only one. */
  wID?: number;
}

const PER_WAREHOUSE_RESOURCE = "warehouseStockLevels";

/** The list of a resource, or of one warehouse of it. */
export const mirrorListOf = <R extends MirrorResource>(resource: R, wID?: number): MirrorList<R> =>
  wID === undefined ? { id: resource, resource } : { id: `${resource}/${wID}`, resource, wID };

/** The lists of these resources, in the order in which they are read. */
export const mirrorListsOf = (resources: readonly MirrorResource[], warehouses: readonly number[]): MirrorList[] =>
  RESOURCES.filter((resource) => resources.includes(resource)).flatMap((resource): MirrorList[] =>
    resource === PER_WAREHOUSE_RESOURCE
      ? warehouses.map((wID) => mirrorListOf(resource, wID))
      : [mirrorListOf(resource)],
  );

/** The lists of warehouses that a saved state has. */
export const savedWarehouseLists = (savedIds: readonly string[]): MirrorList[] =>
  savedIds
    .filter((id) => id.startsWith(`${PER_WAREHOUSE_RESOURCE}/`))
    .map((id) => mirrorListOf(PER_WAREHOUSE_RESOURCE, Number(id.slice(PER_WAREHOUSE_RESOURCE.length + 1))));

/**
 * The lists of warehouses that a saved state has, but that are not mirrored any more. A mirror of no warehouses leaves them as
 * they are, as it does with other resources that it does not mirror.
 */
export function findAbandonedLists(savedIds: readonly string[], mirrored: readonly MirrorList[]): MirrorList[] {
  if (!mirrored.some(({ resource }) => resource === PER_WAREHOUSE_RESOURCE)) return [];
  return savedWarehouseLists(savedIds).filter(({ id }) => !mirrored.some((list) => list.id === id));
}

/** The key of a record, from the number that identifies it within its list. */
export const resourceKeyOf = ({ wID }: MirrorList, number: number): MirrorKey =>
  wID === undefined ? number : `${wID}/${number}`;

/** The number that identifies a record within the list; `undefined` if the record belongs to another list. */
export function recordNumberInList({ wID }: MirrorList, key: MirrorKey): number | undefined {
  if (typeof key === "number") return key;
  const prefix = `${wID}/`;
  return key.startsWith(prefix) ? Number(key.slice(prefix.length)) : undefined;
}
