/** How messages name what their reader can set or call. */
const LIBRARY_WORDING = {
  connectionString: "connectionString",
  maxDiscontinuedShare: "maxDiscontinuedShare",
  /** A row of the caller's, by its index. */
  row: (index: number) => `row ${index}`,
  /** The rest are phrases; empty if the reader has no such means. */
  chooseSchema: "Set the option schema.",
  serviceId: "create the client with the option serviceId:",
  confirmRemovals: "confirm it with run({ allowRemovals: true })",
  /** About the entry with this key. */
  decideOutcome: (_key: string) => "call outbox.resolve",
};
export type Wording = Readonly<typeof LIBRARY_WORDING>;

let current: Wording = LIBRARY_WORDING;

/** The words for the reader of messages: a programmer, or a user of the command. */
export const wording = (): Wording => current;

/** Replaces words for the whole process, which the command does before anything else. */
export function setWording(words: Partial<Wording>): void {
  current = { ...current, ...words };
}
