/** Where the columns are. */
export interface Frame {
  /** Whether names stand over their bars, since there is no room beside them. */
  stacked: boolean;
  gutter: number;
  /** Where the lane begins. */
  left: number;
  lane: number;
  row: number;
}

const NARROW = 620;
const FIGURES = 88;
const MARGIN = 12;

export function frameOf(width: number): Frame {
  if (width < NARROW) {
    const lane = Math.max(80, width - 2 * MARGIN);
    return { stacked: true, gutter: 0, left: MARGIN, lane, row: 56 };
  }
  const gutter = Math.round(Math.min(320, Math.max(220, width * 0.28)));
  return {
    stacked: false,
    gutter,
    left: gutter,
    lane: Math.max(160, width - gutter - FIGURES),
    row: 36,
  };
}
