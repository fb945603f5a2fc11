import { ResponseValidationError } from "../../errors/index.js";
import { type MirrorKey, type MirrorRecord, type MirrorResource, RESOURCES, tableOf } from "../tables.js";

/** A list of the service that is mirrored. A resource is one list, except stock levels per warehouse: one per warehouse. */
export interface MirrorList {
  /** The name of the list in the saved state: `"lots"`, or `"warehouseStockLevels/3"`. */
  id: string;
  resource: MirrorResource;
  /** The warehouse, of a list that has only one. */
  wID?: number;
}

const PER_WAREHOUSE_RESOURCE = "warehouseStockLevels";

/** The list of a resource, or of one warehouse of it. */
export const mirrorListOf = (resource: MirrorResource, wID?: number): MirrorList =>
  wID === undefined ? { id: resource, resource } : { id: `${resource}/${wID}`, resource, wID };

/** The lists of these resources, in the order in which they are read. */
export const mirrorListsOf = (resources: readonly MirrorResource[], warehouses: readonly number[]): MirrorList[] =>
  RESOURCES.filter((resource) => resources.includes(resource)).flatMap((resource): MirrorList[] =>
    resource === PER_WAREHOUSE_RESOURCE
      ? warehouses.map((wID) => mirrorListOf(resource, wID))
      : [mirrorListOf(resource)],
  );

/** The list with this id in a saved state; none if another version has saved it. */
export function mirrorListOfId(id: string): MirrorList[] {
  const [name, wID] = id.split("/");
  const resource = RESOURCES.find((known) => known === name);
  return resource === undefined ? [] : [mirrorListOf(resource, wID === undefined ? undefined : Number(wID))];
}

/**
 * The lists of warehouses that a saved state has, but that were taken out of the option. Without the option, a mirror
 * leaves them as they are, as it does with other resources that it does not read.
 */
export function findAbandonedLists(
  savedIds: readonly string[],
  warehouses: readonly number[] | undefined,
): MirrorList[] {
  if (warehouses === undefined) return [];
  return savedIds
    .flatMap(mirrorListOfId)
    .filter(({ resource, wID = 0 }) => resource === PER_WAREHOUSE_RESOURCE && !warehouses.includes(wID));
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

/** A record as its list has it, with the number that identifies it there. */
export interface NumberedRecord {
  number: number;
  record: MirrorRecord;
}

/** A record of a list. One without a number cannot be stored. The stock levels of one warehouse do not contain its ID. */
export function numberedRecord({ resource, wID }: MirrorList, listed: MirrorRecord): NumberedRecord {
  const field = tableOf(resource).key.at(-1) ?? "";
  const number: unknown = Reflect.get(listed, field);
  if (typeof number === "number" && Number.isSafeInteger(number))
    return { number, record: wID === undefined ? listed : { ...listed, wID } };
  throw new ResponseValidationError(`mirror: a record of ${resource} has no ${field}`, {
    status: 200,
    issues: [{ path: [field], message: "must be an integer" }],
  });
}
