import type { Delivery } from "./delivery.js";
import type { PageRequest } from "./page.js";
import type { PagePlan } from "./page-plan.js";
import type { PageStream } from "./page-stream.js";

/** Begins to read by a plan, at its first request. */
export type Start<T> = (plan: PagePlan, first: PageRequest) => { stream: PageStream<T>; delivery: Delivery<T> };
