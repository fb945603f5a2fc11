/**
 * In place of undici in bundles for Workers, which cannot load it: see `imports` in package.json. Without undici, the client
 * sends with fetch.
 */
export {};
