import { useCallback, useRef, useSyncExternalStore } from 'react';
import type { ConversationState } from './conversation';
import type { ListState } from './list';
import { store } from './store';

/** What a selector reads from a conversation. The component renders again only when that is another value. */
export function useConversation<T>(id: string, select: (state: ConversationState) => T): T {
  return useSelected(() => select(store.conversation(id)));
}

/** The same for the list of conversations and the inbox. */
export function useList<T>(select: (list: ListState) => T): T {
  return useSelected(() => select(store.list));
}

function useSelected<T>(read: () => T): T {
  const last = useRef<{ value: T } | undefined>(undefined);
  const latest = useRef(read);
  latest.current = read;
  const snapshot = useCallback((): T => {
    const value = latest.current();
    if (last.current && same(last.current.value, value)) return last.current.value;
    last.current = { value };
    return value;
  }, []);
  return useSyncExternalStore(store.subscribe, snapshot);
}

/** Whether two selections are the same: the value itself, or an array or a plain object of the same values. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.is(Reflect.get(a, key), Reflect.get(b, key)));
}
