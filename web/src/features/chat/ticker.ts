import { useCallback, useSyncExternalStore } from 'react';
import { store } from '../../store/store';
import { doing } from './doing';

// What agents are doing changes too fast to be read. All rows are told together, at most this often.
const BETWEEN = 400;

const listeners = new Set<() => void>();
let unsubscribe: (() => void) | undefined;
let planned: ReturnType<typeof setTimeout> | undefined;
let moment = 0;

function plan(): void {
  if (planned !== undefined) return;
  planned = setTimeout(() => {
    planned = undefined;
    moment++;
    for (const listener of listeners) listener();
  }, BETWEEN);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  unsubscribe ??= store.subscribe(plan);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    unsubscribe?.();
    unsubscribe = undefined;
  };
}

interface Said {
  moment: number;
  text: string;
}

const said = new Map<string, Said>();

/** What a task is doing now, as of the last tick. */
export function useDoing(conversation: string, task: string): string {
  const read = useCallback(() => {
    const key = `${conversation} ${task}`;
    const before = said.get(key);
    if (before?.moment === moment) return before.text;
    const state = store.conversation(conversation);
    const row = state.tasks.get(task);
    const text = row ? doing(state, row) : '';
    if (said.size > 2_000) said.clear();
    said.set(key, { moment, text });
    return text;
  }, [conversation, task]);
  return useSyncExternalStore(subscribe, read);
}
