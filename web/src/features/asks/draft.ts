import { useCallback, useState } from 'react';

/** An answer that is not given yet. */
export interface AnswerDraft {
  /** The option that is picked, 'other' for one's own words, nothing at first: nothing is ever picked for a person. */
  pick: number | 'other' | undefined;
  text: string;
}

const empty: AnswerDraft = { pick: undefined, text: '' };
const kept = new Map<string, AnswerDraft>();
const place = (name: string) => `retinue.answer ${name}`;

function read(name: string): AnswerDraft {
  const known = kept.get(name);
  if (known) return known;
  try {
    const stored = JSON.parse(sessionStorage.getItem(place(name)) ?? 'null') as AnswerDraft | null;
    if (stored && typeof stored.text === 'string') return stored;
  } catch {
    // Storage is switched off, or holds something else: the draft begins anew.
  }
  return empty;
}

function write(name: string, draft: AnswerDraft): void {
  kept.set(name, draft);
  try {
    sessionStorage.setItem(place(name), JSON.stringify(draft));
  } catch {
    // Storage is switched off: the draft lasts as long as the page.
  }
}

/** Forgets a draft whose question needs no answer any more. */
export function dropDraft(name: string): void {
  kept.delete(name);
  try {
    sessionStorage.removeItem(place(name));
  } catch {
    // There is none, then.
  }
}

/** The draft of an answer. It outlives the card and a reload of the page. */
export function useDraft(name: string): [AnswerDraft, (change: Partial<AnswerDraft>) => void] {
  const [, redraw] = useState(0);
  const draft = read(name);
  const change = useCallback(
    (fields: Partial<AnswerDraft>) => {
      write(name, { ...read(name), ...fields });
      redraw((n) => n + 1);
    },
    [name],
  );
  return [draft, change];
}

/** For tests: as if the page had been loaded anew. */
export const forgetPage = (): void => kept.clear();
