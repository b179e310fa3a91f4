import type { Range } from '@tanstack/react-virtual';

/** Rows that are drawn beyond those that are seen, for screen readers and for quick wheels: so many at least. */
export const BEYOND = 4;

/** And so many when they are drawn anew: a frame that draws several costs little more than one that draws one. */
export const AHEAD = 12;

/** Says which rows are drawn for those that are seen. As long as they are the same, it is the same array. */
export function drawnFor(): (range: Range) => number[] {
  let drawn: number[] = [];
  let [first, end] = [0, 0];
  return ({ startIndex, endIndex, count }) => {
    const covers =
      first <= Math.max(0, startIndex - BEYOND) &&
      end >= Math.min(count, endIndex + 1 + BEYOND) &&
      end <= count;
    if (!covers) {
      first = Math.max(0, startIndex - AHEAD);
      end = Math.min(count, endIndex + 1 + AHEAD);
      drawn = Array.from({ length: end - first }, (_, at) => first + at);
    }
    return drawn;
  };
}
