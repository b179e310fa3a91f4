import { afterEach, expect, it, vi } from 'vitest';
import { hearTime, serverTime } from './servertime';

const dated = (ms: number) => new Response('', { headers: { Date: new Date(ms).toUTCString() } });

afterEach(() => vi.useRealTimers());

it('follows a server whose clock is elsewhere, and forgets it when it is not', () => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  hearTime(dated(Date.now() + 3_600_000));
  expect(serverTime()).toBe(Date.now() + 3_600_000);
  hearTime(dated(Date.now() - 3_600_000));
  expect(serverTime()).toBe(Date.now() - 3_600_000);
  hearTime(dated(Date.now() - 2_000));
  expect(serverTime()).toBe(Date.now());
});

it('takes no date for no news', () => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  hearTime(dated(Date.now() + 3_600_000));
  hearTime(new Response(''));
  expect(serverTime()).toBe(Date.now() + 3_600_000);
  hearTime(dated(Date.now()));
});
