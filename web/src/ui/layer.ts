import { useSyncExternalStore } from 'react';

/** A window that can be opened from anywhere in the app, such as the palette. */
export interface Layer {
  open: () => void;
  close: () => void;
  use: () => boolean;
}

export function layer(): Layer {
  let shown = false;
  const listeners = new Set<() => void>();
  const set = (next: boolean) => {
    shown = next;
    for (const listener of listeners) listener();
  };
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    open: () => set(true),
    close: () => set(false),
    use: () => useSyncExternalStore(subscribe, () => shown),
  };
}
