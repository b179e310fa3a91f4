import { type KeyboardEvent, type RefObject, useCallback, useRef } from 'react';
import type { ActionId } from '../../shell/keys/map';
import { actionFor } from '../../shell/keys/registry';

/** What the keys of an ask do just now. A key that is not there does nothing. */
export type KeyActions = Partial<Record<string, () => void>>;

export const SUBMIT = 'submit';

const fields = 'input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]';

/** Whether letters that are typed there are text. */
const isTextField = (target: Element): boolean => target.closest(fields) !== null;

const names: Partial<Record<ActionId, string>> = {
  'ask.allow': 'a',
  'ask.always': 's',
  'ask.edit': 'e',
  'ask.deny': 'd',
  'ask.submit': SUBMIT,
};

/** The action that a key stands for: by the table of keys, or the number of an option. */
function nameOf(event: KeyboardEvent): string | undefined {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  const plain = !ctrlKey && !metaKey && !altKey && !shiftKey;
  if (plain && /^[1-9]$/.test(key)) return key;
  const action = actionFor(event.nativeEvent, 'dock');
  return action && names[action];
}

/**
 * Keys of a region that hold while the focus is in it and not in a text field. A key that is held down counts once, and
 * what happens in a menu that only React takes for a part of the region does not count.
 */
export function useAskKeys(): {
  actions: RefObject<KeyActions>;
  onKeyDown: (event: KeyboardEvent) => void;
} {
  const actions = useRef<KeyActions>({});
  const onKeyDown = useCallback((event: KeyboardEvent) => {
    const { target, currentTarget } = event;
    if (event.defaultPrevented || event.repeat || !(target instanceof Element)) return;
    if (!currentTarget.contains(target) || isTextField(target)) return;
    const name = nameOf(event);
    const act = name && actions.current[name];
    if (!act) return;
    event.preventDefault();
    act();
  }, []);
  return { actions, onKeyDown };
}
