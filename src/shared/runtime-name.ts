/** Missing on Node.js 20. */
declare const navigator: { userAgent?: string } | undefined;

/** Looked up at each call, so that a test can set it. */
export const isDeno = () => globalThis.process?.versions?.deno !== undefined;

/** Name and version of the runtime, as far as it reports them. */
export function runtimeName(): string {
  const { node, bun, deno } = globalThis.process?.versions ?? {};
  if (bun) return `Bun ${bun}`;
  if (deno) return `Deno ${deno}`;
  const userAgent = typeof navigator === "undefined" ? undefined : navigator.userAgent;
  // Workers imitate Node.js.
  if (userAgent === "Cloudflare-Workers") return "Cloudflare Workers";
  return node ? `Node.js v${node}` : (userAgent ?? "an unknown runtime");
}
