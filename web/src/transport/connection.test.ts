import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Connection, type ConnectionStatus } from './connection';
import type { Frame } from './sse';

let tried: { at: number; last: string | undefined }[] = [];
let made: Connection | undefined;

/** Answers each attempt with what a function says. */
function server(answer: () => Response | Promise<Response>): void {
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
    const headers = init.headers as Record<string, string>;
    tried.push({ at: Date.now(), last: headers['Last-Event-ID'] });
    return answer();
  });
}

function connect(): { frames: Frame[]; states: ConnectionStatus[] } {
  const frames: Frame[] = [];
  const states: ConnectionStatus[] = [];
  made = new Connection({
    path: () => '/v1/events',
    lastId: () => frames.at(-1)?.id ?? '7',
    onFrame: (frame) => frames.push(frame),
    onStatus: (status) => states.push(status),
  });
  return { frames, states };
}

beforeEach(() => {
  tried = [];
  vi.useFakeTimers();
});
afterEach(() => {
  made?.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('a connection', () => {
  it('waits before it opens again what was shut as soon as it was open', async () => {
    server(() => new Response('retry: 500\n\n'));
    const { states } = connect();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(tried.length).toBeGreaterThan(8);
    expect(tried.length).toBeLessThan(26);
    expect(states.some((status) => status.phase === 'waiting' && status.retryAt)).toBe(true);
  });

  it('never waits longer than two seconds for a server that is not there, and says what it saw last', async () => {
    let there = false;
    server(() => {
      if (!there) throw new TypeError('refused');
      return new Response('id: 8\nevent: a\ndata: {}\n\n');
    });
    const { frames } = connect();
    await vi.advanceTimersByTimeAsync(120_000);
    const waits = tried.slice(1).map((attempt, index) => attempt.at - (tried[index]?.at ?? 0));
    expect(Math.max(...waits)).toBeLessThanOrEqual(2_000);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(250);
    there = true;
    const before = tried.length;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(frames[0]?.id).toBe('8');
    expect(tried[before]?.last).toBe('7');
  });

  it('waits as long as a server says that has too much to do', async () => {
    const problem = '{"type":"","title":"busy","status":503,"code":"unavailable"}';
    server(() => new Response(problem, { status: 503, headers: { 'Retry-After': '9' } }));
    connect();
    await vi.advanceTimersByTimeAsync(8_900);
    expect(tried).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(tried).toHaveLength(2);
  });

  it('does not come back to what is not there', async () => {
    const problem = '{"type":"","title":"gone","status":404,"code":"not_found"}';
    server(() => new Response(problem, { status: 404 }));
    const { states } = connect();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(tried).toHaveLength(1);
    expect(states.at(-1)?.phase).toBe('ended');
  });
});
