import { vi } from "vitest";

// Files share a worker. Each has sources of its own, whose state (registered secrets, shared timers) no other file changes.
vi.resetModules();
