import { useSyncExternalStore } from 'react';

// Notifications of the browser. They are off until a person asks for them with a click, and the browser asks them too.

const PLACE = 'retinue.notify';
const listeners = new Set<() => void>();

/** `refused`: the browser does not let us. `absent`: it cannot. */
export type NotifyState = 'on' | 'off' | 'refused' | 'absent';

function wanted(): boolean {
  try {
    return localStorage.getItem(PLACE) === 'on';
  } catch {
    return false;
  }
}

function keep(on: boolean): void {
  try {
    localStorage.setItem(PLACE, on ? 'on' : 'off');
  } catch {
    // Storage is switched off, so there is nobody to remember it.
  }
  for (const listener of listeners) listener();
}

export function notifyState(): NotifyState {
  if (!('Notification' in globalThis)) return 'absent';
  if (Notification.permission === 'denied') return 'refused';
  return wanted() && Notification.permission === 'granted' ? 'on' : 'off';
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useNotifyState = (): NotifyState => useSyncExternalStore(subscribe, notifyState);

/** Switches notifications on. Only for the handler of a click: the browser asks the person. */
export async function switchOn(): Promise<void> {
  if (!('Notification' in globalThis)) return;
  const answer = await Notification.requestPermission();
  keep(answer === 'granted');
}

export const switchOff = (): void => keep(false);

/** Tells a person who looks elsewhere. Tabs that say the same thing say it once, since it has the same name. */
export function notify(name: string, title: string, body: string, onOpen: () => void): void {
  if (notifyState() !== 'on' || document.visibilityState === 'visible') return;
  try {
    const shown = new Notification(title, { body, tag: name, icon: '/favicon.svg' });
    shown.onclick = () => {
      window.focus();
      shown.close();
      onOpen();
    };
  } catch {
    // Some browsers have notifications for service workers only.
  }
}
