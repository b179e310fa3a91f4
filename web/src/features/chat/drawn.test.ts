import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AHEAD, BEYOND, drawnFor } from './drawn';

const seen = fc
  .tuple(fc.integer({ min: 1, max: 400 }), fc.nat(399), fc.nat(30))
  .map(([count, start, more]) => {
    const startIndex = Math.min(start, count - 1);
    return { count, startIndex, endIndex: Math.min(startIndex + more, count - 1), overscan: 0 };
  });

it('draws what is seen and some beyond it, in order, wherever the reader was before', () => {
  fc.assert(
    fc.property(fc.array(seen, { minLength: 1 }), (ranges) => {
      const draw = drawnFor();
      for (const range of ranges) {
        const drawn = draw(range);
        const [first, last] = [drawn[0] as number, drawn.at(-1) as number];
        expect(drawn).toEqual(Array.from({ length: last - first + 1 }, (_, at) => first + at));
        expect(first).toBeLessThanOrEqual(Math.max(0, range.startIndex - BEYOND));
        expect(last).toBeGreaterThanOrEqual(Math.min(range.count - 1, range.endIndex + BEYOND));
        expect(first).toBeGreaterThanOrEqual(0);
        expect(last).toBeLessThan(range.count);
      }
    }),
  );
});

it('gives the same array until the reader comes near its edge', () => {
  const draw = drawnFor();
  const at = (startIndex: number) =>
    draw({ count: 1_000, startIndex, endIndex: startIndex + 20, overscan: 0 });
  const drawn = at(500);
  for (let by = 1; by <= AHEAD - BEYOND; by++) {
    expect(at(500 + by)).toBe(drawn);
    expect(at(500 - by)).toBe(drawn);
  }
  expect(at(500 + AHEAD - BEYOND + 1)).not.toBe(drawn);
});
