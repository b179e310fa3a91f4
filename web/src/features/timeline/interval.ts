// Stretches of time, in milliseconds.

export interface Interval {
  from: number;
  to: number;
}

/** The same time as stretches that neither touch nor overlap, in order. */
export function union(intervals: readonly Interval[]): Interval[] {
  const sorted = intervals.filter((i) => i.to > i.from).sort((a, b) => a.from - b.from);
  const out: Interval[] = [];
  for (const next of sorted) {
    const last = out.at(-1);
    if (last && next.from <= last.to) last.to = Math.max(last.to, next.to);
    else out.push({ from: next.from, to: next.to });
  }
  return out;
}

/** What of a stretch is in none of the others, which are a union. */
export function without(whole: Interval, taken: readonly Interval[]): Interval[] {
  const out: Interval[] = [];
  let at = whole.from;
  for (const next of taken) {
    if (next.to <= at) continue;
    if (next.from >= whole.to) break;
    if (next.from > at) out.push({ from: at, to: next.from });
    at = next.to;
  }
  if (at < whole.to) out.push({ from: at, to: whole.to });
  return out;
}

/** What of a union lies in a stretch. */
export function within(whole: Interval, intervals: readonly Interval[]): Interval[] {
  return intervals
    .map((i) => ({ from: Math.max(i.from, whole.from), to: Math.min(i.to, whole.to) }))
    .filter((i) => i.to > i.from);
}

export const lengthOf = (intervals: readonly Interval[]): number =>
  intervals.reduce((sum, i) => sum + i.to - i.from, 0);
