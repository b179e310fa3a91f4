// The times of events are the server's. A browser whose clock is off would show a moment as an hour.

/** Less than this is how long an answer was on its way, and the second that the server rounds to. */
const NOTICEABLE = 30_000;

let ahead = 0;
let onCorrected = () => {};

/** Says what is to be done when the browser's clock turns out to be off, or no longer to be. */
export function whenCorrected(act: () => void): void {
  onCorrected = act;
}

/** Learns from the date of an answer how far the browser's clock is off. */
export function hearTime(answer: Response): void {
  const told = Date.parse(answer.headers.get('Date') ?? '');
  if (Number.isNaN(told)) return;
  const off = Date.now() - told;
  const before = ahead;
  ahead = Math.abs(off) > NOTICEABLE ? off : 0;
  if (Math.abs(ahead - before) > NOTICEABLE) onCorrected();
}

/** What the server's clock says now. */
export const serverTime = (): number => Date.now() - ahead;
