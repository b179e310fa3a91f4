import { X } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { explain } from '../api/problem';
import { announce } from './announcer';
import { IconButton } from './button';

interface Toast {
  id: number;
  what: string;
  next: string;
}

let toasts: readonly Toast[] = [];
let counter = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Says what happened and what to do about it. It stays until a person closes it: an error that fades is not read. */
export function toast(what: string, next = ''): void {
  announce(`${what}. ${next}`);
  set([...toasts.slice(-2), { id: ++counter, what, next }]);
}

/** The same for an error. */
export function toastError(error: unknown): void {
  const { what, next } = explain(error);
  toast(what, next);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Where toasts appear, once per page. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="fixed right-4 bottom-4 z-50 flex w-[min(360px,calc(100vw-32px))] flex-col gap-2">
      {shown.map(({ id, what, next }) => (
        <div
          key={id}
          className="flex items-start gap-2 rounded-lg border border-line-strong bg-surface py-2 pr-1 pl-3 shadow-pop"
        >
          <div className="min-w-0 flex-1 py-1.5 text-sm">
            <p className="font-medium">{what}</p>
            {next && <p className="text-fg-2">{next}</p>}
          </div>
          <IconButton label="Close" onClick={() => set(toasts.filter((t) => t.id !== id))}>
            <X className="size-4" aria-hidden="true" />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
