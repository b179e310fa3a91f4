import { useSyncExternalStore } from 'react';

// Two regions for the whole page. What comes within three seconds becomes one line, so that a screen reader is not buried.
const MERGE = 3000;

type Urgency = 'polite' | 'assertive';

interface Line {
  text: string;
  /** Lines of the same kind become one, which says how many they are. */
  several?: (count: number) => string;
}

const said: Record<Urgency, string> = { polite: '', assertive: '' };
const pending: Record<Urgency, Line[]> = { polite: [], assertive: [] };
const listeners = new Set<() => void>();
let quietUntil = 0;
let waiting = false;

/** Says something to those who do not look at the screen. Assertive is for a lost connection and what is about to expire. */
export function announce(text: string, urgency: Urgency = 'polite'): void {
  add({ text }, urgency);
}

/** The same for what may come in numbers: "Coder finished", or "3 agents finished". `several` must be one function. */
export function announceOneOf(text: string, several: (count: number) => string): void {
  add({ text, several }, 'polite');
}

function add(line: Line, urgency: Urgency): void {
  pending[urgency].push(line);
  if (urgency === 'assertive') return speak(urgency);
  if (waiting) return;
  waiting = true;
  setTimeout(() => speak('polite'), Math.max(0, quietUntil - Date.now()));
}

function speak(urgency: Urgency): void {
  if (urgency === 'polite') waiting = false;
  if (pending[urgency].length === 0) return;
  const line = merged(pending[urgency]);
  pending[urgency] = [];
  // A region that says the same again is silent, unless its text differs: a space that nobody sees.
  said[urgency] = line === said[urgency] ? `${line}\u00a0` : line;
  if (urgency === 'polite') quietUntil = Date.now() + MERGE;
  for (const listener of listeners) listener();
}

/** One line out of several: the same once, those of a kind counted, the others one after the other. */
export function merged(lines: readonly Line[]): string {
  const out: string[] = [];
  const kinds = new Map<NonNullable<Line['several']>, Line[]>();
  for (const line of lines) {
    if (!line.several) {
      if (!out.includes(line.text)) out.push(line.text);
      continue;
    }
    kinds.set(line.several, [...(kinds.get(line.several) ?? []), line]);
  }
  for (const [several, own] of kinds) {
    out.push(own.length === 1 ? (own[0]?.text ?? '') : several(own.length));
  }
  return out.map((text) => text.replace(/[.\s]+$/, '')).join('. ');
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The regions themselves, once per page. */
export function Announcer() {
  const polite = useSyncExternalStore(subscribe, () => said.polite);
  const assertive = useSyncExternalStore(subscribe, () => said.assertive);
  return (
    <>
      <div aria-live="polite" className="sr-only">
        {polite}
      </div>
      <div aria-live="assertive" className="sr-only">
        {assertive}
      </div>
    </>
  );
}
