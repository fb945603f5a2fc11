type OnPage = (records: number) => Promise<void> | void;

export function sequentialLoop(
  getPage: (page: number) => Promise<{ value: unknown[]; hasMore: boolean }>,
  onPage: OnPage,
): Promise<void>;
export function octokitStyle(baseUrl: string, token: string, onPage: OnPage): Promise<void>;
export function stripeStyle(origin: string, onPage: OnPage): Promise<void>;
