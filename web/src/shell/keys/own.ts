import { useSyncExternalStore } from 'react';
import { type ActionId, actionIds, actions } from './map';

// The keys that a person chose instead, kept in this browser.
const PLACE = 'retinue.keys';

type Own = Partial<Record<ActionId, string>>;

let own: Own | undefined;
const listeners = new Set<() => void>();

function read(): Own {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PLACE) ?? '{}');
    if (typeof kept !== 'object' || kept === null) return {};
    const known = Object.entries(kept).filter(
      ([id, chord]) =>
        typeof chord === 'string' &&
        actionIds.includes(id as ActionId) &&
        !actions[id as ActionId].fixed,
    );
    return Object.fromEntries(known);
  } catch {
    return {};
  }
}

function now(): Own {
  own ??= read();
  return own;
}

function set(next: Own): void {
  own = next;
  try {
    localStorage.setItem(PLACE, JSON.stringify(next));
  } catch {
    // Storage is switched off: the keys last as long as the tab.
  }
  for (const listener of listeners) listener();
}

/** The chord of an action as it is now; empty if a person took it away. */
export const chordFor = (id: ActionId): string => now()[id] ?? actions[id].chord;

export const isOwn = (id: ActionId): boolean => now()[id] !== undefined;

/** Gives an action another chord. Without one it gets back what it came with. */
export function remap(id: ActionId, chord: string | undefined): void {
  if (actions[id].fixed) return;
  const { [id]: _, ...rest } = now();
  set(chord === undefined || chord === actions[id].chord ? rest : { ...rest, [id]: chord });
}

export const resetKeys = (): void => set({});

/** Reads again what another tab kept. */
export function rereadKeys(): void {
  own = undefined;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The chord of an action, drawn again when it changes. */
export const useChord = (id: ActionId): string =>
  useSyncExternalStore(subscribe, () => chordFor(id));

/** All of a person's own keys, for those who show them. */
export const useOwnKeys = (): Own => useSyncExternalStore(subscribe, now);
