import { useEffect, useRef } from 'react';
import { chordOf, isPlain } from './chord';
import { type ActionId, actionIds, actions, type Region } from './map';
import { chordFor, rereadKeys } from './own';

/** What an action does. One that gives false did nothing, and the key keeps its meaning. */
export type Handler = (event: KeyboardEvent) => unknown;

const handlers = new Map<ActionId, Handler[]>();

const fields =
  'input:not([type=radio]):not([type=checkbox]):not([type=button]), textarea, select, [contenteditable=""], [contenteditable=true]';

/** Whether what is typed there is text. */
export const isTextField = (target: Element): boolean => target.closest(fields) !== null;

/** The region that a part of the page is in. */
export function regionOf(target: Element): Region | undefined {
  const place = target.closest<HTMLElement>('[data-region]');
  return place?.dataset.region as Region | undefined;
}

/**
 * The action that a key stands for where it was pressed. For features that listen on their own elements; all others say
 * what an action does with useKeys.
 */
export function actionFor(event: KeyboardEvent, region?: Region): ActionId | undefined {
  const { target } = event;
  if (event.defaultPrevented || event.isComposing || !(target instanceof Element)) return undefined;
  const chord = chordOf(event);
  if (chord === undefined) return undefined;
  const here = region ?? regionOf(target);
  if (isPlain(chord) && here !== 'composer' && isTextField(target)) return undefined;
  return actionIds.find((id) => {
    const where = actions[id].region;
    return (where === 'global' || where === here) && chordFor(id) === chord;
  });
}

/** Says what actions do while a component is there. Of two that say it for the same one, the later counts. */
export function useKeys(does: Partial<Record<ActionId, Handler>>): void {
  const latest = useRef(does);
  latest.current = does;
  const names = Object.keys(does).sort().join(' ');
  useEffect(() => {
    const ids = names.split(' ').filter(Boolean) as ActionId[];
    const mine = ids.map((id) => {
      const handler: Handler = (event) => latest.current[id]?.(event);
      handlers.set(id, [...(handlers.get(id) ?? []), handler]);
      return { id, handler };
    });
    return () => {
      for (const { id, handler } of mine) {
        handlers.set(id, handlers.get(id)?.filter((each) => each !== handler) ?? []);
      }
    };
  }, [names]);
}

/** Carries out what a key stands for. A modal window has the keyboard to itself. */
export function dispatch(event: KeyboardEvent): void {
  if (document.querySelector('dialog[open]')) return;
  const id = actionFor(event);
  if (!id || (event.repeat && actions[id].region === 'dock')) return;
  const handler = handlers.get(id)?.at(-1);
  if (handler && handler(event) !== false) event.preventDefault();
}

/** Listens, once for the page. */
export function useKeyboard(): void {
  useEffect(() => {
    const onStorage = (event: StorageEvent) => event.key === 'retinue.keys' && rereadKeys();
    window.addEventListener('keydown', dispatch);
    window.addEventListener('storage', onStorage);
    return () => {
      window.removeEventListener('keydown', dispatch);
      window.removeEventListener('storage', onStorage);
    };
  }, []);
}
