import * as z from "zod";
import { ConfigurationError } from "../errors/index.js";
import type { Checkpoint } from "../paging/checkpoint.js";
import { lazy } from "../schemas/field.js";
import { type MirrorRecord, type MirrorResource, RESOURCES } from "./tables.js";

/** Version of the saved format. Increased when a saved state can no longer be read. */
const VERSION = 1;

/** What is known of one resource, as it is saved. */
const savedResource = () =>
  z
    .object({
      /** Records in the copy. */
      count: z.number(),
      /** The watermark, under the name that the format has had from the beginning. */
      mark: z.number().optional(),
      /** How many records the service reported last. */
      total: z.number().optional(),
      /** When the last full pass ended, by this machine's clock, in ms. Missing until the first scan has ended. */
      lastFullPassAt: z.number().optional(),
      /** How long that took, in ms. */
      lastFullPassMs: z.number().optional(),
      /** Whether increments of this list can be relied on. Missing while nothing is known. */
      modifiedSince: z.enum(["honoured", "ignored", "doubted", "incomplete"]).optional(),
      /** Where the first scan resumes. Missing before it begins and after it ends. The list checks it when it resumes. */
      checkpoint: z.custom<Checkpoint>().optional(),
      /** True if records have changed in a way that no increment lists, or may have. */
      stale: z.boolean().optional(),
    })
    .transform(({ mark, ...rest }) => ({
      ...rest,
      /**
       * The service's clock, in ms, when the last scan that is in the copy began: earlier changes are in the copy. Missing
       * before the first scan, and if responses have no `Date` header.
       */
      watermark: mark,
    }));

const pendingEvent = () =>
  z.union([
    z.object({ type: z.literal("added"), key: z.number() }),
    z.object({
      type: z.literal("changed"),
      key: z.number(),
      // JSON drops a value that is undefined: the record did not have the field, or no longer has it.
      changes: z.array(z.object({ field: z.string(), before: z.unknown().optional(), after: z.unknown().optional() })),
    }),
    z.object({ type: z.literal("removed"), key: z.number(), record: z.custom<MirrorRecord>() }),
  ]);

const stateSchema = lazy(() =>
  z
    .object({
      version: z.literal(VERSION),
      resources: z.partialRecord(z.enum(RESOURCES), savedResource()),
      untold: z.object({ resource: z.enum(RESOURCES), notices: z.array(pendingEvent()) }).optional(),
    })
    .transform(({ resources, untold }) => ({
      resources,
      /** Events of the last commit, which the listener may not have received yet. */
      pendingEvents: untold && { resource: untold.resource, events: untold.notices },
    })),
);

/** The progress of a mirror. It is saved with the records, in the same transaction. */
export type MirrorState = z.infer<ReturnType<typeof stateSchema>>;

/** The progress of one resource. */
export type ListState = z.infer<ReturnType<typeof savedResource>>;

/** What happened to one record, as it is saved: without the record if the copy has it. */
export type PendingEvent = z.infer<ReturnType<typeof pendingEvent>>;

/** The progress of a resource that was never read. */
export const NEW_RESOURCE: ListState = { count: 0, watermark: undefined };

/**
 * Reads a saved state; `undefined` is that of a new copy.
 *
 * @throws ConfigurationError when another version of the package wrote it.
 */
export function parseState(saved: string | undefined): MirrorState {
  if (saved === undefined) return { resources: {}, pendingEvents: undefined };
  const result = stateSchema().safeParse(parseJson(saved));
  if (result.success) return result.data;
  throw new ConfigurationError(
    "mirror: the state saved in the sink cannot be read. It was written by another version; start with a new copy.",
  );
}

/** The state as it is saved. */
export function formatState({ resources, pendingEvents }: MirrorState): string {
  const saved: Partial<Record<MirrorResource, object>> = {};
  for (const resource of RESOURCES) {
    const state = resources[resource];
    if (state === undefined) continue;
    const { watermark: mark, ...rest } = state;
    saved[resource] = { ...rest, mark };
  }
  const untold = pendingEvents && { resource: pendingEvents.resource, notices: pendingEvents.events };
  return JSON.stringify({ version: VERSION, resources: saved, untold });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
