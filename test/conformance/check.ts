import type { Target } from "./target.js";

/** One statement of the service's document, and how to find out whether a service keeps to it. */
export interface Check {
  /** Heading of the document that the statement stands under. */
  readonly paragraph: string;
  readonly name: string;
  /** Rejects when the service does not do what the document says. */
  run(service: Target): Promise<void>;
}
