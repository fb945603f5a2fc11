import type { Section } from "../results.js";

/** All sections, in order. Each is loaded in a separate process. */
export const SECTIONS: Record<string, () => Promise<(quick: boolean) => Promise<Section>>> = {
  overhead: async () => (await import("./calls.js")).overhead,
  page: async () => (await import("./calls.js")).page,
  profile: async () => (await import("./profile.js")).profile,
  bulk: async () => (await import("./bulk-read.js")).bulkRead,
  quota: async () => (await import("./quota.js")).quota,
  memory: async () => (await import("./memory.js")).memory,
  startup: async () => (await import("./start-up.js")).startUp,
  growth: async () => (await import("./growth.js")).growth,
  paging: async () => (await import("./paging.js")).paging,
  search: async () => (await import("./search.js")).search,
  load: async () => (await import("./load.js")).load,
  plan: async () => (await import("./plan.js")).plan,
  mirror: async () => (await import("./mirror.js")).mirror,
  history: async () => (await import("./history.js")).history,
  outbox: async () => (await import("./outbox.js")).outbox,
  telemetry: async () => (await import("./telemetry.js")).telemetry,
};
