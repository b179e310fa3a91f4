import { afterEach, describe, expect, it, vi } from 'vitest';
import { CallPages } from './pages';

interface Asked {
  path: string;
  answer: (body: unknown) => void;
}

/** A server that answers when it is told to. */
function server(): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal('fetch', (url: string | URL, options: RequestInit) => {
    return new Promise((resolve, reject) => {
      const answer = (body: unknown) =>
        resolve(
          new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } }),
        );
      options.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      asked.push({ path: String(url), answer });
    });
  });
  return asked;
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
const names = Array.from({ length: 10 }, (_, i) => `main/${i}`);

describe('what agents did before', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('is read for a few agents at a time, all pages, once', async () => {
    const asked = server();
    const pages = new CallPages('c');
    pages.want(names, 7);
    await settled();
    expect(asked.length).toBe(8);
    const [models, tools] = asked.splice(0, 2);
    models?.answer({ items: [{ call: '2' }], before: 9 });
    tools?.answer({ items: [] });
    await settled();
    const older = asked.find((a) => a.path.includes('before=9'));
    older?.answer({ items: [{ call: '1' }] });
    await settled();
    expect(pages.of('main/0')?.modelCalls.map((c) => c.call)).toEqual(['1', '2']);
    expect(asked.filter((a) => a.path.includes('main~4')).length).toBe(2);
    const before = asked.length;
    pages.want(['main/0'], 7);
    await settled();
    expect(asked.length).toBe(before);
    pages.want(['main/0'], 8);
    await settled();
    expect(asked.length).toBeLessThanOrEqual(before + 2);
  });

  it('can be gone on with after the page was closed and opened again', async () => {
    const asked = server();
    const pages = new CallPages('c');
    pages.want(['main'], 1);
    await settled();
    pages.close();
    await settled();
    expect(pages.hasFailed('main')).toBe(false);
    pages.want(['main'], 1);
    await settled();
    for (const each of asked) each.answer({ items: [] });
    await settled();
    expect(pages.of('main')?.as_of).toBe(1);
  });
});
