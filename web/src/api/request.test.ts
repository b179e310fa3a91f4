import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { postMessage } from './commands';
import { arrive, enter } from './credential';
import { ProblemError } from './problem';
import { onUnauthorised } from './request';

type Sent = { path: string; headers: Record<string, string> };
let sent: Sent[] = [];

/** Answers requests one after another; an error is a broken connection. */
function server(...answers: (Response | Error)[]): void {
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    sent.push({ path, headers: init.headers as Record<string, string> });
    const answer = answers.shift();
    if (!answer || answer instanceof Error) throw answer ?? new Error('no more answers');
    return answer;
  });
}

const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ type: '', title: code, status, code, next: 'do this' }), {
    status,
    headers,
  });

beforeEach(() => {
  sent = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  localStorage.clear();
});

describe('a command', () => {
  it('is sent with one key until it is known what became of it', async () => {
    const done = new Response('{"id":"m1"}', { status: 201 });
    server(new TypeError('cut'), problem(503, 'unavailable', { 'Retry-After': '2' }), done);
    const result = postMessage('c1', { text: 'hello' });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await result).toEqual({ id: 'm1' });
    expect(sent).toHaveLength(3);
    const keys = new Set(sent.map(({ headers }) => headers['Idempotency-Key']));
    expect(keys.size).toBe(1);
    expect([...keys][0]).toHaveLength(36);
  });

  it('waits as long as it is told to', async () => {
    server(problem(429, 'limit', { 'Retry-After': '7' }), new Response('{}', { status: 201 }));
    const result = postMessage('c1', { text: 'hello' });
    await vi.advanceTimersByTimeAsync(6_900);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    await result;
    expect(sent).toHaveLength(2);
  });

  it('is not sent again when it was refused', async () => {
    server(problem(409, 'conflict'));
    const error = await postMessage('c1', { text: 'hello' }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ProblemError);
    expect((error as ProblemError).code).toBe('conflict');
    expect(sent).toHaveLength(1);
  });

  it('is sent for as long as the server is away', async () => {
    const back = Date.now() + 5 * 60_000;
    vi.stubGlobal('fetch', async () => {
      if (Date.now() < back) throw new TypeError('refused');
      return new Response('{"id":"m1"}', { status: 201 });
    });
    const result = postMessage('c1', { text: 'hello' });
    await vi.advanceTimersByTimeAsync(6 * 60_000);
    expect(await result).toEqual({ id: 'm1' });
  });

  it('is given up after a minute of a server that cannot take it', async () => {
    vi.stubGlobal('fetch', async () => problem(503, 'unavailable'));
    const result = postMessage('c1', { text: 'hello' }).catch((e: unknown) => e);
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await Promise.race([result, 'still at it'])).toBeInstanceOf(ProblemError);
  });
});

describe('the credential', () => {
  it('is got for the code in the address, which leaves it at once', async () => {
    history.replaceState(null, '', '/c/1?agent=main#code=once');
    server(new Response('{"proof":"half"}'), new Response('{}', { status: 201 }));
    const entered = enter();
    expect(location.href).not.toContain('once');
    expect(location.pathname + location.search).toBe('/c/1?agent=main');
    await entered;
    await postMessage('c1', { text: 'hello' });
    expect(sent[0]?.path).toBe('/login/link');
    expect(sent[1]?.headers.Authorization).toBeUndefined();
    expect(sent[1]?.headers['Retinue-Request']).toBe('half');
  });

  it('is forgotten when the server does not know it; what was sent waits until the person is back', async () => {
    localStorage.setItem('retinue.proof', 'of yesterday');
    await enter();
    const told = vi.fn();
    const off = onUnauthorised(told);
    server(problem(401, 'unauthorised'), new Response('{"id":"m1"}', { status: 201 }));
    const result = postMessage('c1', { text: 'hello' });
    await vi.advanceTimersByTimeAsync(120_000);
    expect(told).toHaveBeenCalledOnce();
    expect(localStorage.getItem('retinue.proof')).toBeNull();
    expect(sent).toHaveLength(1);
    arrive();
    expect(await result).toEqual({ id: 'm1' });
    expect(sent[1]?.headers['Idempotency-Key']).toBe(sent[0]?.headers['Idempotency-Key']);
    off();
  });

  it('is asked for again by a page that was reloaded before the answer came', async () => {
    history.replaceState(null, '', '/#code=once');
    server(new TypeError('left'));
    await enter();
    expect(location.href).not.toContain('once');
    server(new Response('{"proof":"second"}'), new Response('{}', { status: 201 }));
    await enter();
    await postMessage('c1', { text: 'hello' });
    expect(sent.map(({ path }) => path).slice(0, 2)).toEqual(['/login/link', '/login/link']);
    expect(sent[2]?.headers['Retinue-Request']).toBe('second');
    expect(sessionStorage.getItem('retinue.code')).toBeNull();
  });

  it('of another tab is taken up', async () => {
    await enter();
    dispatchEvent(new StorageEvent('storage', { key: 'retinue.proof', newValue: 'theirs' }));
    server(new Response('{}', { status: 201 }));
    await postMessage('c1', { text: 'hello' });
    expect(sent[0]?.headers['Retinue-Request']).toBe('theirs');
  });
});
