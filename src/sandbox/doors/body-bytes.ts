/** How much of a body is sent: half of it, or as much as the rule says, but never all. */
export function truncatedLength(length: number, wanted = Math.floor(length / 2)): number {
  return Math.max(0, Math.min(wanted, length - 1));
}

export function toBytes(body: string | Buffer): Buffer {
  return typeof body === "string" ? Buffer.from(body) : body;
}
