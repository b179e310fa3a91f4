import { duration } from '../../ui/format';
import type { Scale } from './scale';

export interface Tick {
  x: number;
  /** Empty where there is no room for one: then it is a line only. */
  label: string;
  /** At the edge of folded time. */
  edge: boolean;
  /** How long the folded time is that the label stands over. */
  gap: boolean;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  ...[100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
  ...[1, 2, 7, 14, 28, 84, 365].map((n) => n * day),
];

/** A label is never nearer to the next one than this. */
const ROOM = 72;
/** About how wide a letter is. */
const LETTER = 6.4;

/** How far a moment is from the beginning: "0s", "1m 30s", "8h 12m". Never "480m". */
export function tickLabel(ms: number): string {
  if (ms % second !== 0) return `${(ms / second).toFixed(1)}s`;
  const parts = [
    [Math.floor(ms / day), 'd'],
    [Math.floor((ms % day) / hour), 'h'],
    [Math.floor((ms % hour) / minute), 'm'],
    [Math.floor((ms % minute) / second), 's'],
  ] as const;
  const words = parts
    .filter(([count]) => count > 0)
    .map(([count, unit], i) => `${i > 0 ? String(count).padStart(2, '0') : count}${unit}`);
  return words.length > 0 ? words.join(' ') : '0s';
}

/** The lines of an axis and what stands at them, from left to right. */
export function ticksOf(scale: Scale): Tick[] {
  const { origin } = scale;
  const taken: { from: number; to: number }[] = [];
  const claim = (x: number, label: string): string => {
    const half = (label.length * LETTER) / 2;
    const from = x === 0 ? 0 : x - half - 4;
    const to = x === 0 ? 2 * half + 4 : x + half + 4;
    if (from < 0 || to > scale.width + 8 || taken.some((t) => from < t.to && to > t.from))
      return '';
    taken.push({ from, to });
    return label;
  };
  const whole = (ms: number) => Math.round(ms / second) * second;
  const gaps = scale.gaps.map((gap) => {
    const x = gap.x + gap.width / 2;
    return { x, label: claim(x, duration(gap.to - gap.from)), edge: false, gap: true };
  });
  // Folded time breaks the axis, so it says what time it is where the axis goes on.
  const edges = scale.gaps.flatMap((gap) =>
    [gap.x + gap.width, gap.x].map((x, i) => {
      const text = tickLabel(whole((i === 0 ? gap.to : gap.from) - origin));
      const half = (text.length * LETTER) / 2 + 6;
      const beside = i === 0 ? x + half : x - half;
      const label = claim(beside, text);
      return { x: label ? beside : x, label, edge: true, gap: false };
    }),
  );
  const regular = times(scale).map((ms) => {
    const x = scale.x(origin + ms);
    return { x, label: claim(x, tickLabel(ms)), edge: false, gap: false };
  });
  return [...gaps, ...edges, ...regular].sort((a, b) => a.x - b.x);
}

function times(scale: Scale): number[] {
  const { window, gaps, origin } = scale;
  const shown = gaps.reduce((ms, g) => ms - (g.to - g.from), window.to - window.from);
  const room = gaps.reduce((px, g) => px - g.width, scale.width);
  const perMs = room / Math.max(1, shown);
  const step = steps.find((s) => s * perMs >= ROOM) ?? (steps.at(-1) as number);
  const out: number[] = [];
  const first = Math.ceil((window.from - origin) / step) * step;
  for (let ms = first; origin + ms <= window.to; ms += step) {
    const gap = gaps.find((g) => origin + ms > g.from && origin + ms < g.to);
    // Over folded time the steps would be countless.
    if (gap) ms = Math.floor((gap.to - origin) / step) * step;
    else out.push(ms);
  }
  return out;
}
