import { describe, expect, it } from 'vitest';
import type { Run } from '../../api/installation';
import { BulkStop } from './bulkstop';
import { asQuery, changed, readSearch } from './filter';
import { beyond, mergeRuns, runKey } from './list';

const run = (id: string, more: Partial<Run> = {}): Run => ({
  id,
  agent: 'main/a',
  assigned_at: '2026-01-01T00:00:00Z',
  by: 'ana',
  conversation: 'c1',
  conversation_title: 'Pears',
  cost_micro_usd: 0,
  role: 'coder',
  seq: 1,
  status: 'running',
  ...more,
});

describe('the search in the address', () => {
  it('takes what fits and leaves the rest', () => {
    expect(readSearch({ status: 'failed', role: 7, cost: '0.5', by: '' })).toEqual({
      status: 'failed',
      role: '7',
      cost: 0.5,
    });
    expect(readSearch({ status: 'exploded', cost: -1 })).toEqual({});
  });
  it('asks in millionths of a dollar', () => {
    expect(asQuery({ cost: 0.29 })).toEqual({ min_cost_micro_usd: 290_000 });
  });
  it('loses what is emptied', () => {
    expect(changed({ status: 'failed', role: 'coder' }, { status: '' })).toEqual({ role: 'coder' });
  });
});

describe('pages', () => {
  it('know a task by its conversation too, and take the newer state', () => {
    const other = run('1', { conversation: 'c2' });
    const merged = mergeRuns([run('1'), other], [run('2'), run('1', { status: 'failed' })]);
    expect(merged.map((each) => [runKey(each), each.status])).toEqual([
      ['c1 2', 'running'],
      ['c1 1', 'failed'],
      ['c2 1', 'running'],
    ]);
    expect(beyond([run('1')], [run('1', { status: 'failed' }), run('0')])).toEqual([run('0')]);
  });
});

describe('stopping several runs', () => {
  it('sends one command each, with its own key, and says what became of each', async () => {
    const sent: [string, string][] = [];
    let made = 0;
    const stop = new BulkStop(
      async (each, key) => {
        sent.push([each.id, key]);
        if (each.id === '2') throw new Error('It is over.');
      },
      () => `key${++made}`,
      () => undefined,
    );
    const runs = ['1', '2', '3', '4', '5', '6'].map((id) => run(id));
    await stop.stop(runs);
    expect(new Set(sent.map(([, key]) => key)).size).toBe(6);
    expect(stop.counts()).toEqual({ sending: 0, accepted: 5, refused: 1 });
    expect(stop.states.get('c1 2')).toEqual({ state: 'refused', why: 'It is over.' });
  });
  it('tries a refused one again with the same key, and an accepted one never', async () => {
    const keys: string[] = [];
    let fail = true;
    let made = 0;
    const stop = new BulkStop(
      async (_, key) => {
        keys.push(key);
        if (fail) throw new Error('no');
      },
      () => `key${++made}`,
      () => undefined,
    );
    await stop.stop([run('1')]);
    fail = false;
    await stop.stop([run('1')]);
    await stop.stop([run('1')]);
    expect(keys).toEqual(['key1', 'key1']);
  });
  it('never has more than four on their way', async () => {
    let under = 0;
    let most = 0;
    const stop = new BulkStop(
      async () => {
        most = Math.max(most, ++under);
        await new Promise((resolve) => setTimeout(resolve, 1));
        under--;
      },
      () => 'k',
      () => undefined,
    );
    await stop.stop(Array.from({ length: 20 }, (_, i) => run(String(i))));
    expect([most, stop.counts().accepted]).toEqual([4, 20]);
  });
});
