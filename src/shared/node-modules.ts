/**
 * Modules of Node.js, `undefined` on a runtime that lacks them. They are not imported: an import that cannot be resolved
 * would keep the whole package from loading there, and a bundler for such a runtime would refuse it.
 */
type OptionalModule<Module> = Module | undefined;

export const nodeZlib: OptionalModule<typeof import("node:zlib")> = globalThis.process?.getBuiltinModule?.("node:zlib");

export const nodeHttp: OptionalModule<typeof import("node:http")> = globalThis.process?.getBuiltinModule?.("node:http");
