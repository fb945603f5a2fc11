import * as z from "zod";
import { ConfigurationError } from "../errors/index.js";
import type { Checkpoint } from "../paging/checkpoint.js";
import { lazy } from "../schemas/field.js";
import type { MirrorRecord } from "./tables.js";

/** Bumped when a state can no longer be read as it was. */
const VERSION = 1;

const resourceState = () =>
  z.object({
    /** Records in the copy. */
    count: z.number(),
    /**
     * The service's clock, in ms, when the last reading that is in the copy began: what changed before is in the copy.
     * Missing while nothing was read, and where the service does not tell its time.
     */
    mark: z.number().optional(),
    /** How many records the service had when it was last asked. */
    total: z.number().optional(),
    /** When a full pass ended last, by this machine's clock, in ms. Missing until the first one has. */
    lastFullPassAt: z.number().optional(),
    /** How long that took, in ms. */
    lastFullPassMs: z.number().optional(),
    /** What was found out about `modifiedSince`. Missing while nothing is known. */
    modifiedSince: z.enum(["honoured", "ignored", "doubted", "incomplete"]).optional(),
    /** Where the first reading goes on. Missing when it begins, and when it is done. The list that gets it checks it. */
    checkpoint: z.custom<Checkpoint>().optional(),
    /** True when records have changed in a way that no increment tells, or may have. */
    stale: z.boolean().optional(),
  });

const stateSchema = lazy(() =>
  z.object({
    version: z.literal(VERSION),
    resources: z.object({
      items: resourceState().optional(),
      lots: resourceState().optional(),
      stockLevels: resourceState().optional(),
    }),
    /** What happened in the last commit and may not have been told yet. */
    untold: z
      .object({
        resource: z.enum(["items", "lots", "stockLevels"]),
        notices: z.array(
          z.union([
            z.object({ type: z.literal("added"), key: z.number() }),
            z.object({
              type: z.literal("changed"),
              key: z.number(),
              // JSON leaves out what is undefined: the field was, or is, not there.
              changes: z.array(
                z.object({ field: z.string(), before: z.unknown().optional(), after: z.unknown().optional() }),
              ),
            }),
            z.object({ type: z.literal("removed"), key: z.number(), record: z.custom<MirrorRecord>() }),
          ]),
        ),
      })
      .optional(),
  }),
);

/** How far a mirror has come. It is saved with the records, in the same transaction. */
export type MirrorState = z.infer<ReturnType<typeof stateSchema>>;

/** How far it has come with one resource. */
export type ResourceState = z.infer<ReturnType<typeof resourceState>>;

/** What happened to one record, as it is saved: without the record where the copy has it. */
export type PendingEvent = NonNullable<MirrorState["untold"]>["notices"][number];

export const NEW_STATE: MirrorState = { version: VERSION, resources: {} };
export const NEW_RESOURCE: ResourceState = { count: 0 };

/** Reads a saved state; throws a `ConfigurationError` for one that another version of the package wrote. */
export function parseState(text: string | undefined): MirrorState {
  if (text === undefined) return NEW_STATE;
  const result = stateSchema().safeParse(jsonOf(text));
  if (result.success) return result.data;
  throw new ConfigurationError(
    "mirror: the state saved in the sink cannot be read. It was written by another version; begin with a new copy.",
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
