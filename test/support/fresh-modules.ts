import { vi } from "vitest";

// Test files share a worker. This loads the sources again for each file, so that no file sees the state of another one, such as
// registered secrets and shared timers.
vi.resetModules();
