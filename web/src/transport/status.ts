import { useSyncExternalStore } from 'react';
import type { ConnectionStatus } from './connection';

/** How the page's connection to the server is, as one thing: the worst of its feeds. */
export interface Link {
  state: 'connecting' | 'live' | 'lost';
  /** When the next attempt is made. */
  retryAt: number | undefined;
}

const feeds = new Map<string, { status: ConnectionStatus; retryNow: () => void }>();
const listeners = new Set<() => void>();
let link: Link = { state: 'connecting', retryAt: undefined };

export function setFeedStatus(name: string, status: ConnectionStatus, retryNow: () => void): void {
  feeds.set(name, { status, retryNow });
  compute();
}

export function dropFeedStatus(name: string): void {
  feeds.delete(name);
  compute();
}

/** Tries all broken connections again at once. */
export function retryNow(): void {
  for (const feed of feeds.values()) if (feed.status.phase === 'waiting') feed.retryNow();
}

export function useLink(): Link {
  return useSyncExternalStore(subscribe, () => link);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Connecting anew after a loss still counts as lost: the banner must not flicker. */
function compute(): void {
  const all = [...feeds.values()].map((feed) => feed.status);
  const waiting = all.filter((s) => s.phase === 'waiting');
  const open = all.every((s) => s.phase === 'open' || s.phase === 'ended');
  let state: Link['state'] = link.state === 'lost' ? 'lost' : 'connecting';
  if (waiting.length > 0) state = 'lost';
  else if (all.length > 0 && open) state = 'live';
  const retryAt = waiting.map((s) => s.retryAt ?? 0).sort((a, b) => a - b)[0];
  if (state === link.state && retryAt === link.retryAt) return;
  link = { state, retryAt };
  for (const listener of listeners) listener();
}
