import { useSyncExternalStore } from 'react';

// Which rows are open is kept by their ids, so that it outlives rows that are not drawn, and a reload.
const KEY = 'retinue.inspector.open';
const MOST = 500;

const open = new Set<string>(stored());
const listeners = new Set<() => void>();

function stored(): string[] {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? '[]');
    return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
  } catch {
    return [];
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function toggle(id: string): void {
  if (!open.delete(id)) open.add(id);
  const oldest = open.values().next().value;
  if (open.size > MOST && oldest !== undefined) open.delete(oldest);
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...open]));
  } catch {
    // A browser that keeps nothing forgets it at the next reload.
  }
  for (const listener of listeners) listener();
}

/** Whether a row is open, and what opens or closes it. */
export function useDisclosure(id: string): [boolean, () => void] {
  const is = useSyncExternalStore(subscribe, () => open.has(id));
  return [is, () => toggle(id)];
}
