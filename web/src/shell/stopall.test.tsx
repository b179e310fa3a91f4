import { act, renderHook } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Event } from '../api/types';
import { store } from '../store/store';
import { useStopAll } from './stopall';

const at = '2026-11-15T10:00:00Z';
let seq = 0;

/** What the orchestrator comes to, and the page is told of it. */
async function comesTo(type: string, status: string): Promise<void> {
  seq++;
  const data = type === 'agent.spawned' ? { depth: 0, role: 'main' } : { status };
  const event = { seq, type, ts: at, conversation: 'c', agent_path: 'main', task: 'main', data };
  await act(async () => {
    store.change((all) => all.conversation('c').apply(event as unknown as Event));
    await vi.advanceTimersByTimeAsync(400);
  });
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('is stopping until everything has come to rest, and not what begins then', async () => {
  vi.useFakeTimers();
  vi.stubGlobal('fetch', async () => new Response('{}', { status: 202 }));
  await comesTo('agent.spawned', '');
  await comesTo('agent.resumed', 'running');
  const { result } = renderHook(() => useStopAll('c'));
  expect(result.current.stopping).toBe(false);
  await act(async () => result.current.stop());
  expect(result.current.stopping).toBe(true);
  await comesTo('agent.settled', 'completed');
  await comesTo('agent.resumed', 'running');
  expect(result.current.stopping).toBe(false);
});
