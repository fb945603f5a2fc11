/** Calls a function of the caller's. Whether it throws or rejects, `onError` receives the error. */
export function callSafely(run: () => unknown, onError: (error: unknown) => void = () => {}): void {
  try {
    const result = run();
    // Any object may be a thenable.
    if (Object(result) === result) Promise.resolve(result).catch(onError);
  } catch (error) {
    onError(error);
  }
}
