/** The sandbox's time: what the caller's `now` says, plus whatever {@link SandboxClock.advance} added. */
export interface SandboxClock {
  /** Milliseconds since the epoch. */
  now(): number;
  advance(milliseconds: number): void;
  /** Undoes every `advance`. */
  reset(): void;
}

export function createSandboxClock(source: () => number): SandboxClock {
  let offset = 0;
  return {
    now: () => source() + offset,
    advance: (milliseconds) => {
      offset += milliseconds;
    },
    reset: () => {
      offset = 0;
    },
  };
}

/** The form in which the service gives all its datetimes. */
export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

const ISO_8601 = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Milliseconds since the epoch; UTC when the text names no offset. Undefined when it is not ISO 8601. */
export function parseTime(text: string): number | undefined {
  const match = ISO_8601.exec(text.trim());
  if (!match) return undefined;
  const dateOnly = !text.includes(":");
  const milliseconds = Date.parse(match[1] || dateOnly ? text.trim() : `${text.trim()}Z`);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
