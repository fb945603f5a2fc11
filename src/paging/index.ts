export type { Checkpoint } from "./checkpoint.js";
export type {
  Page,
  PageRequest,
  PageSession,
  PageSource,
  PagingOptions,
  PagingProgress,
  PagingSettings,
} from "./page.js";
export { Paginator } from "./paginator.js";
