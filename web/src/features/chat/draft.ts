import { useSyncExternalStore } from 'react';

// What a person is writing, by conversation. It outlives the page.

const listeners = new Set<() => void>();
const texts = new Map<string, string>();
const place = (conversation: string) => `retinue.draft.${conversation}`;

export function draftOf(conversation: string): string {
  let text = texts.get(conversation);
  if (text === undefined) {
    text = read(conversation);
    texts.set(conversation, text);
  }
  return text;
}

export function setDraft(conversation: string, text: string): void {
  texts.set(conversation, text);
  try {
    if (text) localStorage.setItem(place(conversation), text);
    else localStorage.removeItem(place(conversation));
  } catch {
    // Storage is full or switched off: the draft lasts as long as the page.
  }
  for (const listener of listeners) listener();
}

/** Puts a text into the composer, for the person to change and send. What they were writing stays before it. */
export function writeInComposer(conversation: string, text: string): void {
  const before = draftOf(conversation).trimEnd();
  setDraft(conversation, before ? `${before}\n${text}` : text);
  requestAnimationFrame(() => {
    const field = document.querySelector<HTMLTextAreaElement>('textarea[data-composer]');
    field?.focus();
    field?.setSelectionRange(field.value.length, field.value.length);
  });
}

export function useDraft(conversation: string): string {
  return useSyncExternalStore(subscribe, () => draftOf(conversation));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function read(conversation: string): string {
  try {
    return localStorage.getItem(place(conversation)) ?? '';
  } catch {
    return '';
  }
}
