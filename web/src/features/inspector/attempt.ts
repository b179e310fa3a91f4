// What became of one attempt at a model request: why it failed, and what comes after it.

import type { ModelCallRow } from '../../store/rows';
import { duration } from '../../ui/format';

const words: Record<string, string> = {
  auth: 'The provider refused the key',
  rate_limit: 'Too many requests for the provider',
  network: 'The provider could not be reached',
  server_error: 'The provider failed',
  invalid_request: 'The provider refused the request',
  content_filter: 'The provider filtered the content',
  context_exhausted: 'Too long for the model',
  timed_out: 'Out of time',
  cancelled: 'Stopped',
  no_result: 'Nothing came back',
};

/** Why an attempt failed, in words. */
export const failureOf = ({ error_kind: kind = 'failed' }: { error_kind?: string }): string =>
  words[kind] ?? kind.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase());

/** What came to nothing before the last sending: "Too many requests for the provider, 2 times." */
export function triesWords(tries: ModelCallRow['tries'] = []): string {
  const counts = new Map<string, number>();
  for (const each of tries) {
    const why = [failureOf(each), each.model].filter(Boolean).join(': ');
    counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  return [...counts].map(([why, n]) => (n === 1 ? `${why}.` : `${why}, ${n} times.`)).join(' ');
}

export interface Retry {
  /** When it failed. */
  from: string;
  /** When it was tried again; while it is waited, the time at which that will be, as far as it is known. */
  to: string | undefined;
  waits: boolean;
}

/** Those after which the same request is sent again. */
const again = new Set(['rate_limit', 'network', 'server_error', 'no_result']);

/** The wait after a failed attempt; undefined if nothing came after it. */
export function retryOf(
  calls: readonly ModelCallRow[],
  call: ModelCallRow,
  working: boolean,
): Retry | undefined {
  if (!call.finished_at || !again.has(call.error_kind ?? '')) return undefined;
  const next = calls.find(
    (each) => each.task === call.task && each.seq > call.seq && each.turn === call.turn,
  );
  if (next?.started_at) return { from: call.finished_at, to: next.started_at, waits: false };
  if (!working || calls.at(-1) !== call) return undefined;
  const asked = call.retry_after_ms;
  const to = asked && new Date(Date.parse(call.finished_at) + asked).toISOString();
  return { from: call.finished_at, to: to || undefined, waits: true };
}

/** How long the agent waited, or waits, before it tries again. */
export function retryWords({ from, to, waits }: Retry, now: number): string {
  const end = Date.parse(to ?? from);
  if (!waits) return `Tried again after ${duration(end - Date.parse(from))}.`;
  const left = end - now;
  return left > 0 ? `Tries again in ${duration(left)}.` : 'Tries again soon.';
}
