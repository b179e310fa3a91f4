import type { Region } from './map';

// In the order of F6. The timeline stands where the conversation does.
const order: readonly Region[] = [
  'sidebar',
  'conversation',
  'timeline',
  'dock',
  'composer',
  'inspector',
];

const focusable =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex]';

/** The parts of the page that are seen, in order. */
export function regions(): HTMLElement[] {
  const seen = [...document.querySelectorAll<HTMLElement>('[data-region]')].filter(
    (part) =>
      part.getClientRects().length > 0 &&
      (part.matches(focusable) || part.querySelector(focusable) !== null),
  );
  return order.flatMap((name) => seen.filter((part) => part.dataset.region === name).slice(0, 1));
}

/** Moves the focus to the next or the previous part of the page, round and round. */
export function cycleRegion(step: 1 | -1): boolean {
  const parts = regions();
  if (parts.length === 0) return false;
  const here = parts.findIndex((part) => part.contains(document.activeElement));
  const from = here < 0 && step < 0 ? parts.length : here;
  const next = parts[(from + step + parts.length) % parts.length];
  if (!next) return false;
  enter(next);
  return true;
}

/** Puts the focus into a part: on what it says, on itself if it takes it, or on the first thing in it that does. */
function enter(part: HTMLElement): void {
  const start = part.querySelector<HTMLElement>('[data-region-start]');
  if (start) return start.focus();
  if (part.matches(focusable)) return part.focus();
  (
    part.querySelector<HTMLElement>('textarea, [aria-current="page"]') ??
    part.querySelector<HTMLElement>(focusable)
  )?.focus();
}
