export interface Limiter {
  name: string;
  run(
    task: (page: number) => Promise<void>,
    pages: number,
    limit: { requests: number; intervalMs: number },
  ): Promise<void>;
}

export const limiters: readonly Limiter[];
export const queues: readonly {
  name: string;
  /** The largest number of jobs that does not take too long. */
  largest?: number;
  run(jobs: readonly (() => Promise<unknown>)[]): Promise<void>;
}[];
export function octokitThrottling(
  baseUrl: string,
  token: string,
  pages: number,
  onFailure: (error: unknown) => void,
): Promise<void>;
