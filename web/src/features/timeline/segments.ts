import type { Interval } from './interval';
import type { Scale } from './scale';

/** What an agent does: calls a model, uses a tool, waits for a person, waits for its sub-agents. */
export type Doing = 'model' | 'tool' | 'you' | 'agents';

export interface Span extends Interval {
  doing: Doing;
  label: string;
  failed?: boolean;
}

// Where things go on at the same time, the one that says more is shown.
const rank: Record<Doing, number> = { you: 3, tool: 2, model: 1, agents: 0 };

/** The same spans without overlaps, in order. All the time that they cover stays covered, and no other does. */
export function segments(spans: readonly Span[]): Span[] {
  const waiting = spans.filter((s) => s.to > s.from).sort((a, b) => a.from - b.from);
  const edges = [...new Set(waiting.flatMap((s) => [s.from, s.to]))].sort((a, b) => a - b);
  const out: { span: Span; shown: Span }[] = [];
  let active: Span[] = [];
  let next = 0;
  for (const [i, from] of edges.entries()) {
    const to = edges[i + 1];
    if (to === undefined) break;
    active = active.filter((s) => s.to > from);
    for (; waiting[next]?.from === from; next++) active.push(waiting[next] as Span);
    const best = top(active, out.at(-1)?.span);
    if (!best) continue;
    const last = out.at(-1);
    if (last && last.span === best && last.shown.to === from) last.shown.to = to;
    else out.push({ span: best, shown: { ...best, from, to } });
  }
  return out.map(({ shown }) => shown);
}

/** The one to show; of equals the one that is shown already. */
function top(active: readonly Span[], current: Span | undefined): Span | undefined {
  let best: Span | undefined;
  for (const span of active) {
    if (!best || rank[span.doing] > rank[best.doing]) best = span;
    else if (span === current && rank[span.doing] === rank[best.doing]) best = span;
  }
  return best;
}

export interface Bar {
  left: number;
  width: number;
  span: Span;
}

/** Less than this nobody sees. */
const LEAST = 2;

/**
 * Where segments are drawn. Bars are inside the lane, in order, and never overlap; what is too short for a bar of its own
 * goes under in the one before it, so that a lane has no more bars than pixels.
 */
export function barsOf(segments: readonly Span[], scale: Scale): Bar[] {
  const bars: Bar[] = [];
  let right = 0;
  for (const span of segments) {
    if (span.to <= scale.window.from || span.from >= scale.window.to) continue;
    const from = scale.x(span.from);
    const to = scale.x(span.to);
    const left = Math.max(from, right);
    if (left > to || left + LEAST > scale.width) {
      if (bars.length > 0 || scale.width < LEAST) continue;
    }
    const begin = Math.min(left, Math.max(0, scale.width - LEAST));
    // A pixel stays free between two bars.
    const width = Math.min(scale.width - begin, Math.max(LEAST, to - begin - 1));
    bars.push({ left: begin, width, span });
    right = begin + width + 1;
  }
  return bars;
}
