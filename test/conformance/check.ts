import type { Target } from "./target.js";

/** One statement of the service's document, and how to find out whether a service keeps to it. */
export interface Check {
  /** Heading of the document that the statement stands under. */
  readonly paragraph: string;
  readonly name: string;
  /** What the check needs beyond credentials: permission to write, another client, or to use up the rate limit. */
  readonly needs?: "writes" | "readOnlyClient" | "scopedClient" | "powerlessClient" | "exhaustion";
  /** Rejects when the service does not do what the document says. */
  run(service: Target): Promise<void>;
}

/** Thrown when the service holds no data that the check could be made with. */
export class NotApplicable extends Error {}

/** A value that the data may lack. */
export function available<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new NotApplicable(`there is no ${what}`);
  return value;
}
