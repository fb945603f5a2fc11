import type { Page, PageRequest } from "./page.js";

/** Which page follows which. */
export interface PagePlan {
  /** The request after `request`, whose answer is `page` if it has come already. */
  after(request: PageRequest, page: Page<unknown> | undefined): PageRequest;
  /** Position where the page of `request` ends, as far as is known. */
  reach(request: PageRequest): number;
  /** Called with each answer as it comes, before anything further is planned. */
  learn(request: PageRequest, page: Page<unknown>): void;
}
