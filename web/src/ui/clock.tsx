import { useSyncExternalStore } from 'react';
import { serverTime, whenCorrected } from '../api/servertime';
import { duration } from './format';

// One clock for the page. A row with a timer of its own would wake the page once per row.
const listeners = new Set<() => void>();
let now = serverTime();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  now = serverTime();
  for (const each of listeners) each();
}

// Until the next second what has just happened would be an hour ago.
whenCorrected(tick);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // While nobody looked it stood still.
  if (timer === undefined) now = serverTime();
  timer ??= setInterval(tick, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time, to the second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** How long something took or has taken so far. Hidden from screen readers while it ticks. */
export function Duration({ from, to }: { from: string; to?: string | undefined }) {
  if (to !== undefined) {
    return <span className="tnum">{duration(Date.parse(to) - Date.parse(from))}</span>;
  }
  return <Ticking from={from} />;
}

function Ticking({ from }: { from: string }) {
  const since = Math.max(0, useNow() - Date.parse(from));
  return (
    <span className="tnum" aria-hidden="true">
      {duration(Math.floor(since / 1000) * 1000 || 1000)}
    </span>
  );
}
