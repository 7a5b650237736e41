/** Waiting. */

export const DEBOUNCE = 60; // milliseconds after a keystroke before the server is asked

/** Wait; throw an error if the signal aborts. */
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}
