/**
 * Modules of Node.js, `undefined` on a runtime that lacks them. They are not imported: an import that cannot be resolved
 * would keep the whole package from loading there, and a bundler for such a runtime would refuse it.
 */
type OptionalModule<Module> = Module | undefined;

export const nodeZlib: OptionalModule<typeof import("node:zlib")> = globalThis.process?.getBuiltinModule?.("node:zlib");

export const nodeHttp: OptionalModule<typeof import("node:http")> = globalThis.process?.getBuiltinModule?.("node:http");

export const diagnosticsChannel: OptionalModule<typeof import("node:diagnostics_channel")> =
  globalThis.process?.getBuiltinModule?.("node:diagnostics_channel");

export const asyncHooks: OptionalModule<typeof import("node:async_hooks")> =
  globalThis.process?.getBuiltinModule?.("node:async_hooks");

export const nodeNet: OptionalModule<typeof import("node:net")> = globalThis.process?.getBuiltinModule?.("node:net");
