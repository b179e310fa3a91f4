// A page with a dock, for tests: a real router and the real store; only the server is played.

import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { act, cleanup, render } from '@testing-library/react';
import { vi } from 'vitest';
import type { Event } from '../../api/types';
import { store } from '../../store/store';
import { TooltipProvider } from '../../ui/tooltip';
import { AskDock } from './dock';

let seq = 0;
let conversations = 0;

export const newConversation = (): string => `c${++conversations}`;

export const at = (second: number): string =>
  new Date(Date.UTC(2026, 0, 1, 14, 7, second)).toISOString();

/** Lets the page draw what the store holds. */
export const settle = async (ms = 60): Promise<void> => {
  await act(async () => {
    await vi.advanceTimersByTimeAsync(ms);
  });
};

let begun = 0;

/** Begins a test. Its clock is ahead of that of the one before: the store remembers when it drew last. */
export function begin(): void {
  vi.useFakeTimers();
  vi.advanceTimersByTime(++begun * 60_000);
}

/** Ends a test. What the store has planned is done first: it is one for all tests of a file. */
export function tidy(): void {
  act(() => void vi.runOnlyPendingTimers());
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
}

/** Something happens on the server. */
export function emit(conversation: string, type: string, data: object, agent = 'main/1'): void {
  seq++;
  const event = { seq, type, ts: at(seq), conversation, agent_path: agent, task: agent, data };
  act(() => store.apply(conversation, [event as unknown as Event]));
}

export function spawn(conversation: string, agent: string, role: string, parent?: string): void {
  emit(conversation, 'agent.spawned', { depth: 1, role, parent, instruction: 'do it' }, agent);
}

const common = (id: string) => ({
  id,
  seq: seq + 1,
  at: at(seq + 1),
  agent: 'main/1',
  task: 'main/1',
});

export function want(conversation: string, id: string, more: object = {}): void {
  emit(conversation, 'approval.requested', {
    ...common(id),
    call: id,
    tool: 'shell',
    hash: `hash of ${id}`,
    status: 'open',
    pattern: 'go vet *',
    show: { command: `go vet ./${id}` },
    ...more,
  });
}

export function ask(conversation: string, id: string, more: object = {}): void {
  const question = { ...common(id), text: `What about ${id}?`, options: ['Tea', 'Coffee'] };
  emit(conversation, 'question.asked', { ...question, status: 'open', ...more });
  emit(conversation, 'question.relayed', { question: id });
}

export interface Sent {
  path: string;
  body: Record<string, unknown>;
}

/** Plays the server: says who asks, takes every command, and keeps what it was sent. */
export function playServer(
  answer?: (sent: Sent) => Promise<Response> | Response | undefined,
): Sent[] {
  const sent: Sent[] = [];
  vi.stubGlobal('fetch', async (path: string, init: RequestInit = {}) => {
    if (init.method !== 'POST') {
      if (path === '/v1/me') return Response.json({ name: 'Me', role: 'owner', scopes: [] });
      if (path.includes('/messages')) return Response.json({ items: [] });
      return (await answer?.({ path, body: {} })) ?? new Response(null, { status: 404 });
    }
    const body = JSON.parse(String(init.body)) as Record<string, unknown>;
    sent.push({ path, body });
    return (
      (await answer?.({ path, body })) ?? Response.json({ by: 'Me', status: 'decided', number: 1 })
    );
  });
  return sent;
}

/** A page that shows the dock of a conversation. */
export async function showDock(conversation: string, search = '') {
  const root = createRootRoute();
  const chat = createRoute({
    getParentRoute: () => root,
    path: '/c/$id',
    component: () => (
      <>
        <AskDock conversation={conversation} />
        <textarea aria-label="Message" />
      </>
    ),
  });
  const router = createRouter({
    routeTree: root.addChildren([chat]),
    history: createMemoryHistory({ initialEntries: [`/c/${conversation}${search}`] }),
  });
  const page = render(
    <TooltipProvider>
      <RouterProvider router={router as never} />
    </TooltipProvider>,
  );
  // The cards are a script of their own.
  await Promise.all([import('./askcard'), import('./edit')]);
  await settle(10);
  await settle(10);
  return { ...page, router };
}
