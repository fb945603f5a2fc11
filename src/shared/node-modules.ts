/**
 * Modules of Node.js, `undefined` on a runtime that lacks them. They are not imported: an import that cannot be resolved
 * would keep the whole package from loading there, and a bundler for such a runtime would refuse it.
 */
type OptionalModule<Module> = Module | undefined;

export const nodeUtil: OptionalModule<typeof import("node:util")> = globalThis.process?.getBuiltinModule?.("node:util");

export const nodeZlib: OptionalModule<typeof import("node:zlib")> = globalThis.process?.getBuiltinModule?.("node:zlib");

export const nodeHttp: OptionalModule<typeof import("node:http")> = globalThis.process?.getBuiltinModule?.("node:http");

export const workerThreads: OptionalModule<typeof import("node:worker_threads")> =
  globalThis.process?.getBuiltinModule?.("node:worker_threads");

export const nodeNet: OptionalModule<typeof import("node:net")> = globalThis.process?.getBuiltinModule?.("node:net");
