import * as z from "zod";
import { ConfigurationError } from "../../shared/errors/index.js";
import { wording } from "../../shared/errors/wording.js";
import { lazy } from "../../shared/field.js";
import { assertSameService, mayTakeOver, type ServiceIdentity } from "../../storage/service.js";
import { RESOURCES } from "../tables.js";

/** Version of the saved format. Increased when a saved state can no longer be read. */
const STATE_FORMAT_VERSION = 1;

/**
 * What is known of one list, as it is saved. `sync/list-sync.ts` describes what a run does about it.
 *
 * Times are in ms. `since`, `newestModified` and `modifiedLagMs` are by the service's clock (its `Date` header, or the dates of
 * records), all others by this machine's.
 */
const listStateSchema = () =>
  z.object({
    count: z.number(),
    /** Records that the copy lacked by the service's count when they were last compared; negative if it had too many. */
    lacking: z.number().optional(),
    /**
     * The copy has all records that were added or changed until then, by this machine's clock, in ms. Removals until then
     * may be unknown if `awaitsFullPass`, or if as many records were added while the counts were compared. It stays while
     * removals are refused: the copy knowingly has removed records, so it shows no later moment.
     */
    asOf: z.number().optional(),
    /** The full pass that ended last. Missing until the first one has ended. */
    lastPass: z
      .object({
        /** When it ended, by this machine's clock, in ms. */
        endedAt: z.number(),
        durationMs: z.number(),
        /** How many fewer records it listed than the service counted; 0 if that is not known, as without the order of keys. */
        shortage: z.number(),
        /** How much of the shortage the pass before had too: the service counts these records, but does not list them. */
        unlisted: z.number(),
      })
      .optional(),
    /**
     * Until when records may differ in a way that neither an increment nor the counts show, by this machine's clock, in ms:
     * an item's description in its lots, or changes while the clock was set back. Missing if there are none: a full pass that began later has read them.
     */
    staleUntil: z.number().optional(),
    increments: z.object({
      /**
       * Whether they can be relied on. Missing while nothing is known. `honoured`: they list all changes. `ignored`: the list
       * has no `modifiedSince`. `doubted`: one did not list a change that a full pass found; `incomplete`: two in a row.
       */
      support: z.enum(["honoured", "ignored", "doubted", "incomplete"]).optional(),
      /** The service's clock, in ms, when the last read that is in the copy began. Missing without a `Date` header. */
      since: z.number().optional(),
      /** The latest `modified` that the list has shown, by the service's clock, in ms. */
      newestModified: z.number().optional(),
      /** How far `modified` is behind the service's `Date` header, in ms. */
      modifiedLagMs: z.number().optional(),
    }),
    /** True if the last full pass refused removals: the copy knowingly has records that the service does not list. */
    hasRefused: z.boolean().optional(),
    /** The largest number of records of each of the last days, as `[days since the epoch, records]`. */
    sizes: z.array(z.tuple([z.number(), z.number()])).optional(),
  });

const fieldsSchema = () => z.record(z.string(), z.unknown()).nullable();

const recordChangeSchema = () =>
  z.object({
    type: z.enum(["added", "changed", "removed"]),
    key: z.union([z.number(), z.string()]),
    before: fieldsSchema(),
    after: fieldsSchema(),
  });

const savedRunSchema = () =>
  z.object({
    startedAt: z.number(),
    endedAt: z.number(),
    kind: z.enum(["full", "increment"]),
    error: z.object({ name: z.string(), message: z.string() }).optional(),
  });

const mirrorStateSchema = lazy(() =>
  z.object({
    version: z.literal(STATE_FORMAT_VERSION),
    /** The service whose records these are, see `ServiceIdentity`. */
    service: z.string().optional(),
    /** The client ID of the account that has read them. */
    account: z.string().optional(),
    /** The lists of the mirror that ran last, by `id`. */
    mirrored: z.array(z.string()).optional(),
    /** By the `id` of the list. */
    lists: z.record(z.string(), listStateSchema()),
    lastRun: savedRunSchema().optional(),
    /**
     * Changes by the last commit, which the listener may not have received yet. Only without history. Records that the copy
     * has are left out.
     */
    pending: z.object({ resource: z.enum(RESOURCES), changes: z.array(recordChangeSchema()) }).optional(),
    /** See history.ts. */
    history: z
      .object({
        days: z.number().optional(),
        seq: z.number(),
        delivered: z.number(),
        from: z.record(z.string(), z.number()),
      })
      .optional(),
  }),
);

/** The progress of a mirror. It is saved with the records, in the same SQL transaction. */
export type MirrorState = z.infer<ReturnType<typeof mirrorStateSchema>>;

/** The progress of one list. */
export type ListState = z.infer<ReturnType<typeof listStateSchema>>;

/** The progress of a list that was never read. */
export const NEW_LIST_STATE: ListState = { count: 0, increments: {} };

/*
 * How many records differ, and which. All of it is derived here from what is saved:
 *
 *   lacking    saved: what the service counts, minus what the copy has, when they were last compared
 *   shortage   saved: what the service counts, minus what the last full pass has listed
 *   unlisted   saved: the part of the shortage that the pass before had too (`unlistedAfter`). No pass will list these
 *   surplus    `unlisted` minus `lacking`: what the copy has too many; negative if it lacks some (`surplusOf`)
 *
 * A report has two of them, as numbers from 0 on: `surplus`, and `missing`, which is `lacking` (`reportedDifference`).
 */

/**
 * Records that the copy has in excess of those that the service lists, at most all of them; negative if it lacks some of
 * these; 0 if they were not compared yet.
 *
 * An example: the service counts 100 records, but never lists two of them; then it removes one record.
 *
 *                              counted  count  lacking  shortage  unlisted  surplus  missing (report)
 *   after the first full pass      100     98        2         2         0       -2                 2  differs: another pass
 *   after the second one           100     98        2         2         2        0                 2
 *   after the removal               99     98        1         2         2        1                 1  differs: another pass
 */
export const surplusOf = ({ count, lacking, lastPass }: ListState): number =>
  lacking === undefined ? 0 : Math.min(count, (lastPass?.unlisted ?? 0) - lacking);

/** The `surplus` and the `missing` records of a report or status; `null` if they were not compared yet. */
export const reportedDifference = (state: ListState): { surplus: number | null; missing: number | null } =>
  state.lacking === undefined
    ? { surplus: null, missing: null }
    : { surplus: Math.max(0, surplusOf(state)), missing: Math.max(0, state.lacking) };

/** What is `unlisted` after a full pass with this shortage, which follows `lastPass`. */
export const unlistedAfter = (lastPass: ListState["lastPass"], shortage: number): number =>
  Math.min(lastPass?.shortage ?? 0, shortage);

/**
 * The numbers of a list to which records were added. Those that it lacked are assumed to be among them. `added` is negative
 * if records were removed: by a full pass, which saves at its end what the copy lacks then.
 */
export function countsAfter(state: ListState, added: number): Pick<ListState, "count" | "lacking"> {
  const { count, lacking } = state;
  const lacked = Math.max(0, -surplusOf(state));
  return { count: count + added, lacking: lacking && lacking - Math.min(lacked, Math.max(0, added)) };
}

/** True if the copy may be stale, or has another number of records than the service lists. */
const differs = (state: ListState): boolean => state.staleUntil !== undefined || surplusOf(state) !== 0;

/** True if the copy may differ from the list until the next full pass: also because that has refused removals. */
export const awaitsFullPass = (state: ListState): boolean => differs(state) || state.hasRefused === true;

/**
 * Reads a saved state; `undefined` is that of a new copy.
 *
 * @throws ConfigurationError when another version of the package wrote it.
 */
export function parseMirrorState(saved: string | undefined): MirrorState {
  if (saved === undefined) return { version: STATE_FORMAT_VERSION, lists: {} };
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
  const begunAgain = Object.entries(lists).map(([listId, { count }]) => [listId, { ...NEW_LIST_STATE, count }]);
  return {
    ...state,
    service: id,
    account: clientId,
    lists: account === clientId ? lists : Object.fromEntries(begunAgain),
  };
}

export interface CopyClient extends ServiceIdentity {
  clientId: string;
  /** Whether the copy may pass to this account. */
  acceptAccount: boolean;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
