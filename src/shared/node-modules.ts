/**
 * Modules of Node.js; `undefined` on a runtime that lacks them. They are not imported: an import that cannot be
 * resolved would prevent such a runtime from loading the whole package, and a bundler for that runtime would reject it.
 */
type OptionalModule<Module> = Module | undefined;

export const nodeZlib: OptionalModule<typeof import("node:zlib")> = globalThis.process?.getBuiltinModule?.("node:zlib");

export const nodeHttp: OptionalModule<typeof import("node:http")> = globalThis.process?.getBuiltinModule?.("node:http");
