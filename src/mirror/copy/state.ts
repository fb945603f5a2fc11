import * as z from "zod";
import { ConfigurationError } from "../../errors/index.js";
import { wording } from "../../errors/wording.js";
import type { Checkpoint } from "../../paging/checkpoint.js";
import { lazy } from "../../schemas/field.js";
import { assertSameService, mayTakeOver, type ServiceIdentity } from "../../storage/service.js";
import { type MirrorRecord, RESOURCES } from "../tables.js";
import { mirrorListOf } from "./lists.js";

/** Version of the saved format. Increased when a saved state can no longer be read. */
const STATE_FORMAT_VERSION = 1;

/** The state of one list, as it is saved. */
const savedListSchema = () =>
  z.object({
    /** Records in the copy. */
    count: z.number(),
    /**
     * The service's clock, in ms, when the last scan that is in the copy began: earlier changes are in the copy. Missing
     * before the first scan, and if responses have no `Date` header.
     */
    watermark: z.number().optional(),
    /** How many records the service reported last. */
    total: z.number().optional(),
    /** When the last full pass ended, by this machine's clock, in ms. Missing until the first scan has ended. */
    lastFullPassAt: z.number().optional(),
    /** How long that took, in ms. */
    lastFullPassMs: z.number().optional(),
    /** Whether increments of this list can be relied on. Missing while nothing is known. */
    modifiedSince: z.enum(["honoured", "ignored", "doubted", "incomplete"]).optional(),
    /** Where an interrupted scan of the whole list resumes. The list checks it when it resumes. */
    checkpoint: z.custom<Checkpoint>().optional(),
    /**
     * The result of that scan up to the checkpoint. Missing if records were not listed in the order of their keys.
     */
    scanned: z
      .object({
        /** Records listed. */
        records: z.number(),
        /** The last record listed. */
        lastNumber: z.number(),
        /** Records of the copy up to there that were not listed. */
        unseen: z.array(z.number()),
      })
      .optional(),
    /** When the interrupted scan began, by this machine's clock, in ms. */
    scanBeganAt: z.number().optional(),
    /** True if records have changed in a way that no increment lists, or may have. */
    stale: z.boolean().optional(),
    /**
     * Number of records that the last full pass lacked by the service's count, though records were listed in the
     * order of their keys.
     */
    shortage: z.number().optional(),
    /** How many of these the previous full pass lacked too: the service counts them, but does not list them. */
    unlisted: z.number().optional(),
    /** The removals that the last full pass refused: the copy knowingly has records that the service does not list. */
    refused: z.object({ removals: z.number(), records: z.number() }).optional(),
    /** The largest number of records of each of the last days, as `[days since the epoch, records]`. */
    sizes: z.array(z.tuple([z.number(), z.number()])).optional(),
    /** The latest `modified` that the list has shown, by the service's clock, in ms. */
    newestModified: z.number().optional(),
    /** How far `modified` is behind the service's `Date` header, in ms. */
    modifiedLagMs: z.number().optional(),
    /** The copy has all changes until then, by this machine's clock, in ms. */
    asOf: z.number().optional(),
    /** Records that the copy lacks by the service's count. */
    missing: z.number().optional(),
    /** True if the copy may differ until the next full pass. */
    awaitsFullPass: z.boolean().optional(),
  });

const recordKeySchema = () => z.union([z.number(), z.string()]);

const pendingEventSchema = () =>
  z.union([
    z.object({ type: z.literal("added"), key: recordKeySchema() }),
    z.object({
      type: z.literal("changed"),
      key: recordKeySchema(),
      // JSON drops a value that is undefined: the record did not have the field, or no longer has it.
      changes: z.array(z.object({ field: z.string(), before: z.unknown().optional(), after: z.unknown().optional() })),
    }),
    z.object({ type: z.literal("removed"), key: recordKeySchema(), record: z.custom<MirrorRecord>() }),
  ]);

const savedRunSchema = () =>
  z.object({
    startedAt: z.number(),
    endedAt: z.number(),
    kind: z.enum(["full", "increment"]),
    error: z.object({ name: z.string(), message: z.string() }).optional(),
  });

const mirrorStateSchema = lazy(() =>
  z
    .object({
      version: z.literal(STATE_FORMAT_VERSION),
      /** The service whose records these are, see `ServiceIdentity`. */
      service: z.string().optional(),
      /** The client ID of the account that has read them. */
      account: z.string().optional(),
      resources: z.partialRecord(z.enum(RESOURCES), savedListSchema()),
      warehouses: z.record(z.string(), savedListSchema()).optional(),
      lastRun: savedRunSchema().optional(),
      pendingEvents: z.object({ resource: z.enum(RESOURCES), events: z.array(pendingEventSchema()) }).optional(),
    })
    .transform(({ service, account, resources, warehouses = {}, pendingEvents, lastRun }) => {
      const lists = new Map<string, ListState>(Object.entries(resources));
      for (const [wID, state] of Object.entries(warehouses)) lists.set(warehouseList(wID), state);
      return {
        service,
        account,
        /** By the `id` of the list. */
        lists: lists as ReadonlyMap<string, ListState>,
        /** The run that ended last. */
        lastRun,
        /** Events of the last commit, which the listener may not have received yet. */
        pendingEvents,
      };
    }),
);

const warehouseList = (wID: string) => mirrorListOf("warehouseStockLevels", Number(wID)).id;

/** The progress of a mirror. It is saved with the records, in the same transaction. */
export type MirrorState = z.infer<ReturnType<typeof mirrorStateSchema>>;

/** The progress of one list. */
export type ListState = z.infer<ReturnType<typeof savedListSchema>>;

/** What happened to one record, as it is saved: without the record if the copy has it. */
export type PendingEvent = z.infer<ReturnType<typeof pendingEventSchema>>;

/** The progress of a list that was never read. */
export const NEW_LIST_STATE: ListState = { count: 0 };

/**
 * Reads a saved state; `undefined` is that of a new copy.
 *
 * @throws ConfigurationError when another version of the package wrote it.
 */
export function parseMirrorState(saved: string | undefined): MirrorState {
  if (saved === undefined)
    return { service: undefined, account: undefined, lists: new Map(), lastRun: undefined, pendingEvents: undefined };
  const result = mirrorStateSchema().safeParse(parseJson(saved));
  if (result.success) return result.data;
  throw new ConfigurationError(
    "mirror: the state saved in the sink cannot be read. It was written by another version; start with a new copy.",
  );
}

/**
 * The state of a copy that this client may write to. With another account, all lists are read again from the beginning:
 * it may see other records.
 *
 * @throws ConfigurationError when the copy belongs to another service, or to another account that was not accepted.
 */
export function stateForClient(state: MirrorState, client: CopyClient): MirrorState {
  const { id, clientId, acceptAccount } = client;
  const { service = id, account = clientId, lists } = state;
  if (!mayTakeOver(service, client)) assertSameService("mirror", service, client);
  if (account !== clientId && !acceptAccount) {
    throw new ConfigurationError(
      `mirror: the copy was read by the client "${account}", and this client is "${clientId}", which may see other records. ` +
        `To read everything again with it, ${wording().acceptAccount}. Otherwise use a copy of its own.`,
    );
  }
  const begunAgain = [...lists].map(([listId, { count }]) => [listId, { ...NEW_LIST_STATE, count }] as const);
  return { ...state, service: id, account: clientId, lists: account === clientId ? lists : new Map(begunAgain) };
}

/** The client of a run. */
export interface CopyClient extends ServiceIdentity {
  clientId: string;
  /** Whether the copy may pass to this account. */
  acceptAccount: boolean;
}

/** The state as it is saved. */
export function formatMirrorState({ service, account, lists, lastRun, pendingEvents }: MirrorState): string {
  const resources: Record<string, object> = {};
  const warehouses: Record<string, object> = {};
  for (const [id, state] of lists) {
    const [resource = "", wID] = id.split("/");
    if (wID === undefined) resources[resource] = state;
    else warehouses[wID] = state;
  }
  return JSON.stringify({
    version: STATE_FORMAT_VERSION,
    service,
    account,
    resources,
    warehouses: Object.keys(warehouses).length > 0 ? warehouses : undefined,
    lastRun,
    pendingEvents,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
