/** How long something may take that is waited for. Busy machines take long; nothing waits this long when all is well. */
export const PATIENCE = 45_000;

/** How long until it is asked again, in milliseconds. */
const PAUSE = 50;

/** Asks again and again until there is an answer that is neither nothing nor false. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  pause = PAUSE,
): Promise<T> {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > end) throw new Error(`waited ${PATIENCE / 1000} s in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
