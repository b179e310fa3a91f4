import { duration } from '../../ui/format';
import type { Interval } from './interval';
import type { Scale } from './scale';
import type { Doing, Span } from './segments';
import { tickLabel } from './ticks';

const names: Record<Doing, string> = {
  model: 'calling models',
  tool: 'using tools',
  you: 'waiting for you',
  agents: 'waiting for sub-agents',
};

/** What is said of an agent that has done nothing: it may still come, or never did. */
export const absence = (over: boolean): string => (over ? 'Did not start' : 'Not started yet');

/** A lane for those who do not see it. */
export function inWords(
  life: Interval | undefined,
  over: boolean,
  segments: readonly Span[],
  scale: Scale,
): string {
  if (!life) return absence(over);
  const began = Math.max(0, Math.round((life.from - scale.origin) / 1000) * 1000);
  const sums = new Map<Doing, number>();
  for (const s of segments) sums.set(s.doing, (sums.get(s.doing) ?? 0) + s.to - s.from);
  const parts = [...sums].map(([doing, ms]) => `${duration(ms)} ${names[doing]}`);
  return [`Began at ${tickLabel(began)}`, ...parts].join(', ');
}
