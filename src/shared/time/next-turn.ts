/** Resolves when everything that is due by now has run: timers, and what they have started. Fake timers do not hold it up. */
export function nextTurn(): Promise<void> {
  if (typeof MessageChannel === "undefined") return Promise.resolve();
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    const end = () => {
      port1.close();
      resolve();
    };
    port2.addEventListener("message", end, { once: true });
    port2.start();
    port1.postMessage(undefined);
  });
}
