import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TreeRow } from '../../store/activity';
import { type Interval, lengthOf, union, within, without } from './interval';
import { frameOf } from './layout';
import { idle, idleShare, scaleOf } from './scale';
import { barsOf, type Doing, type Span, segments } from './segments';
import { tickLabel, ticksOf } from './ticks';
import { moved, moveFor, openRows, windowOf, zoomed, zoomOf } from './view';

const hour = 3_600_000;

// Most of them lie in the stretches below, and many overlap.
const interval = fc
  .tuple(fc.nat(10 * hour), fc.oneof(fc.nat(2000), fc.nat(hour)))
  .map(([from, length]) => ({ from, to: from + length }));
const span = fc
  .tuple(interval, fc.constantFrom<Doing>('model', 'tool', 'you', 'agents'))
  .map(([i, doing]): Span => ({ ...i, doing, label: doing }));
const spans = fc.array(span, { maxLength: 30 });
const stretch = fc
  .tuple(fc.nat(hour), fc.integer({ min: 1000, max: 10 * hour }))
  .map(([from, length]) => ({ from, to: from + length }));
const scale = fc
  .tuple(stretch, fc.integer({ min: 80, max: 2000 }), fc.array(interval, { maxLength: 20 }))
  .map(([window, width, busy]) => scaleOf(window, width, idle(busy, window)));

describe('segments', () => {
  it('never overlap, and cover exactly what the spans cover', () => {
    fc.assert(
      fc.property(spans, (all) => {
        const out = segments(all);
        for (const [i, s] of out.entries()) {
          expect(s.to).toBeGreaterThan(s.from);
          expect(s.from).toBeGreaterThanOrEqual(out[i - 1]?.to ?? 0);
        }
        expect(union(out)).toEqual(union(all));
      }),
    );
  });

  it('show that somebody waits for a person, whatever else goes on', () => {
    fc.assert(
      fc.property(spans, (all) => {
        const waits = union(all.filter((s) => s.doing === 'you'));
        expect(union(segments(all).filter((s) => s.doing === 'you'))).toEqual(waits);
      }),
    );
  });

  it('keep one call in one piece while another of its kind runs beside it', () => {
    const tool = (from: number, to: number, label: string): Span => ({
      from,
      to,
      doing: 'tool',
      label,
    });
    const out = segments([tool(0, 10, 'a'), tool(5, 20, 'b'), tool(6, 7, 'c')]);
    expect(out.map((s) => [s.label, s.from, s.to])).toEqual([
      ['a', 0, 10],
      ['b', 10, 20],
    ]);
  });
});

describe('scale', () => {
  it('never goes back, fills its width, and can be read the other way round', () => {
    fc.assert(
      fc.property(scale, fc.array(fc.nat(12 * hour), { maxLength: 20 }), (s, times) => {
        expect(s.x(s.window.from)).toBe(0);
        expect(s.x(s.window.to)).toBe(s.width);
        const xs = times.sort((a, b) => a - b).map(s.x);
        for (const [i, x] of xs.entries()) {
          expect(x).toBeGreaterThanOrEqual(xs[i - 1] ?? 0);
          expect(x).toBeLessThanOrEqual(s.width + 1e-6);
        }
        for (const x of [0, s.width / 3, s.width / 2, s.width]) {
          expect(s.x(s.at(x))).toBeCloseTo(x, 3);
        }
      }),
    );
  });

  it('folds nothing in which somebody worked', () => {
    fc.assert(
      fc.property(stretch, fc.array(interval, { maxLength: 20 }), (window, busy) => {
        const gaps = idle(busy, window);
        for (const gap of gaps) expect(within(gap, union(busy))).toEqual([]);
        const folded = scaleOf(window, 900, gaps).gaps;
        expect(folded.reduce((px, g) => px + g.width, 0)).toBeLessThanOrEqual(900 + 1e-6);
      }),
    );
  });

  it('folds eight hours of waiting, so that five minutes of work are seen', () => {
    const work = [
      { from: 0, to: 5 * 60_000 },
      { from: 8 * hour, to: 8 * hour + 60_000 },
    ];
    const whole = { from: 0, to: 8 * hour + 60_000 };
    expect(idleShare(work, whole)).toBeGreaterThan(0.98);
    expect(scaleOf(whole, 900).x(5 * 60_000)).toBeLessThan(10);
    const folded = scaleOf(whole, 900, idle(work, whole));
    expect(folded.x(5 * 60_000)).toBeGreaterThan(600);
    const ticks = ticksOf(folded);
    expect(ticks.filter((t) => t.gap).map((t) => t.label)).toEqual(['7h 55m']);
    expect(ticks.filter((t) => t.edge).map((t) => t.label)).toEqual(['5m', '8h']);
  });
});

describe('ticks', () => {
  it('stand in order and are never written over each other', () => {
    fc.assert(
      fc.property(scale, (s) => {
        const labels = ticksOf(s).filter((t) => t.label !== '');
        for (const [i, tick] of labels.entries()) {
          const before = labels[i - 1];
          if (!before) continue;
          const half = (t: { label: string }) => (t.label.length * 6) / 2;
          const edge = before.x === 0 ? 2 * half(before) : before.x + half(before);
          expect(tick.x - half(tick)).toBeGreaterThanOrEqual(edge);
        }
        expect(labels.length).toBeLessThan(s.width / 20);
      }),
    );
  });

  it.each([
    [0, '0s'],
    [500, '0.5s'],
    [90_000, '1m 30s'],
    [64_000, '1m 04s'],
    [8 * hour, '8h'],
    [8 * hour + 5 * 60_000, '8h 05m'],
    [30 * hour, '1d 06h'],
  ])('say %i ms as %s', (ms, label) => expect(tickLabel(ms)).toBe(label));
});

describe('bars', () => {
  it('are inside the lane, in order, apart, and no more than it has pixels', () => {
    fc.assert(
      fc.property(scale, spans, (s, all) => {
        const bars = barsOf(segments(all), s);
        let right = 0;
        for (const bar of bars) {
          expect(bar.left).toBeGreaterThanOrEqual(right);
          expect(bar.width).toBeGreaterThanOrEqual(2 - 1e-6);
          right = bar.left + bar.width;
          expect(right).toBeLessThanOrEqual(s.width + 1e-6);
        }
        expect(bars.length).toBeLessThanOrEqual(s.width / 2);
        const seen = all.filter((x) => x.to > s.window.from && x.from < s.window.to);
        expect(bars.length > 0).toBe(seen.some((x) => x.to > x.from));
      }),
    );
  });

  it('of a thousand calls in a narrow lane stay few', () => {
    const many = Array.from({ length: 5000 }, (_, i): Span => {
      return { from: i * 10, to: i * 10 + 9, doing: i % 2 ? 'tool' : 'model', label: '' };
    });
    const s = scaleOf({ from: 0, to: 50_000 }, 300);
    expect(barsOf(segments(many), s).length).toBeLessThanOrEqual(101);
  });
});

describe('the part that is shown', () => {
  const whole = { from: 1000, to: 101_000 };
  it('comes back from the address as it was', () => {
    fc.assert(
      fc.property(fc.nat(90_000), fc.integer({ min: 500, max: 50_000 }), (from, length) => {
        const window = moved(whole, { from: 1000 + from, to: 1000 + from + length }, 0);
        expect(windowOf(whole, zoomOf(whole, window))).toEqual(window);
      }),
    );
  });
  it('is everything when nothing is asked, and stays inside whatever is', () => {
    expect(windowOf(whole, {})).toBe(whole);
    expect(zoomOf(whole, zoomed(whole, whole, 2))).toEqual({});
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (from, to) => {
        const window = windowOf(whole, { from, to });
        expect(window.from).toBeGreaterThanOrEqual(whole.from);
        expect(window.to).toBeGreaterThan(window.from);
        expect(window.to).toBeLessThanOrEqual(whole.to);
      }),
    );
  });
});

const tree = (...depths: number[]): TreeRow[] =>
  depths.map((depth, i) => {
    let below = 0;
    while ((depths[i + 1 + below] ?? -1) > depth) below++;
    return { agent: { id: String(i), seq: i, depth, role: 'coder', task: '' }, depth, below };
  });

describe('the tree', () => {
  const rows = tree(0, 1, 2, 1);
  it('leaves out what is below closed rows', () => {
    expect(openRows(rows, new Set(['1'])).map((r) => r.agent.id)).toEqual(['0', '1', '3']);
    expect(openRows(rows, new Set(['0'])).map((r) => r.agent.id)).toEqual(['0']);
  });
  it('is walked with the arrows', () => {
    const none = new Set<string>();
    expect(moveFor('ArrowDown', rows, 3, none, 10)).toEqual({ to: 3 });
    expect(moveFor('ArrowRight', rows, 1, none, 10)).toEqual({ to: 2 });
    expect(moveFor('ArrowRight', rows, 1, new Set(['1']), 10)).toEqual({ open: '1' });
    expect(moveFor('ArrowLeft', rows, 1, none, 10)).toEqual({ close: '1' });
    expect(moveFor('ArrowLeft', rows, 2, none, 10)).toEqual({ to: 1 });
    expect(moveFor('ArrowLeft', rows, 3, none, 10)).toEqual({ to: 0 });
    expect(moveFor('End', rows, 0, none, 10)).toEqual({ to: 3 });
    expect(moveFor('x', rows, 0, none, 10)).toBeUndefined();
  });
});

describe('intervals', () => {
  it('of a whole are what is taken and what is not', () => {
    fc.assert(
      fc.property(stretch, fc.array(interval), (whole: Interval, some) => {
        const taken = union(some);
        const sum = lengthOf(within(whole, taken)) + lengthOf(without(whole, taken));
        expect(sum).toBe(whole.to - whole.from);
      }),
    );
  });
});

it('the columns fit their box, stacked where it is narrow', () => {
  expect(frameOf(366).stacked).toBe(true);
  for (const width of [320, 390, 620, 900, 1400]) {
    const frame = frameOf(width);
    expect(frame.left + frame.lane).toBeLessThanOrEqual(width);
  }
});
