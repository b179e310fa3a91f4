import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelCallRow } from '../../store/rows';
import { noUsage } from '../../store/usage';
import { failureOf, type Retry, retryOf, retryWords, triesWords } from './attempt';
import { limit, valuesOf } from './configvalues';
import { imageOf } from './picture';
import { receiptOf } from './receipt';
import { argsOf, kindOf, linesChanged, mainArgument, readsLine } from './tools/kinds';
import { worked } from './waits';

describe('tools', () => {
  it('that are not known are shown as they are', () => {
    for (const tool of ['mcp__jira__create', 'constructor', '__proto__', '']) {
      expect(kindOf(tool)).toBe('other');
    }
    expect(mainArgument('mcp__jira__create', { count: 3, title: 'A\n bug' })).toBe('A bug');
  });

  it('take arguments that are no object, or not whole yet', () => {
    for (const text of ['', '[1]', '"x"', '{"path":"a', undefined]) {
      expect(argsOf(text)).toEqual({});
    }
  });

  it('say how much they change', () => {
    expect(linesChanged('edit_file', { old: 'a\nb\nc', new: 'a\nx\ny\nc' })).toEqual({
      added: 2,
      removed: 1,
    });
    expect(linesChanged('write_file', { content: 'a\nb\n' })).toEqual({ added: 2, removed: 0 });
    expect(linesChanged('shell', { command: 'rm x' })).toBeUndefined();
  });

  it('that read are counted by what they read', () => {
    expect(readsLine(['read_file', 'list_dir', 'read_file'])).toBe('Read 2 files, listed 1 folder');
  });
});

describe('a receipt', () => {
  it('never makes a claim look better than it is', () => {
    const claims = [{ kind: 'tests', claim: '3 of 3', verdict: 'looks_fine' }, { claim: 'x' }];
    const receipt = receiptOf({ verdict: 'VERIFIED', claims });
    expect(receipt?.verdict).toBe('unverified');
    expect(receipt?.claims.map((claim) => claim.verdict)).toEqual(['unverified', 'unverified']);
    expect(receiptOf(undefined)).toBeUndefined();
  });
});

describe('images', () => {
  it('are pictures only, whatever was kept', () => {
    expect(imageOf('data:image/png;base64,iVBORw0=')?.type).toBe('image/png');
    for (const text of [
      'data:image/svg+xml;base64,PHN2Zz4=',
      'data:text/html;base64,PGI+',
      'https://example.org/x.png',
      'data:image/png,<svg>',
    ]) {
      expect(imageOf(text)).toBeUndefined();
    }
  });
});

describe('the time of a task', () => {
  it('stands still while somebody is asked', () => {
    expect(worked(0, 100, [])).toBe(100);
    expect(worked(0, 100, [10, 30, 20, 40])).toBe(70);
    expect(worked(0, 100, [90, Number.POSITIVE_INFINITY, -50, 10])).toBe(80);
  });

  it('is never more than went by, nor less than nothing', () => {
    const moment = fc.integer({ min: -50, max: 150 });
    fc.assert(
      fc.property(fc.array(fc.tuple(moment, moment)), (waits) => {
        const left = worked(0, 100, waits.flat());
        expect(left >= 0 && left <= 100).toBe(true);
      }),
    );
  });

  it('has its limit in few letters', () => {
    expect([300_000, 86_400_000, 90_000].map(limit)).toEqual(['5m', '24h', '1m 30s']);
  });
});

describe('a configuration', () => {
  const role = { description: 'Builds.', rules: [{ tool: 'shell', verdict: 'ask' }], limits: {} };

  it('says where its values came from', () => {
    const values = valuesOf(role, { permission: 'coder.md:4' });
    expect(values.find(({ label }) => label === 'Rules')).toEqual({
      label: 'Rules',
      value: 'shell: ask',
      origin: 'coder.md:4',
    });
    expect(values[0]?.origin).toBe('default');
  });

  it('claims no origin when none is known', () => {
    expect(valuesOf(role, undefined).every(({ origin }) => origin === '')).toBe(true);
  });
});

describe('attempts', () => {
  const call = (attempt: number, fields: Partial<ModelCallRow>): ModelCallRow => ({
    ...{ id: `c${attempt}`, call: `1.${attempt}`, agent: 'main', task: 'main', type: 'prompt' },
    ...{ seq: attempt, ended: 0, turn: 1, attempt, status: 'failed', usage: noUsage },
    ...fields,
  });
  const refused = call(1, {
    error_kind: 'rate_limit',
    finished_at: '2026-01-01T00:00:10Z',
    retry_after_ms: 4_000,
  });

  it('that are waited for say how long', () => {
    const retry = retryOf([refused], refused, true) as Retry;
    expect(failureOf(refused)).toBe('Too many requests for the provider');
    expect(retryWords(retry, Date.parse('2026-01-01T00:00:11Z'))).toBe('Tries again in 3s.');
    expect(retryWords(retry, Date.parse('2026-01-01T00:00:15Z'))).toBe('Tries again soon.');
  });

  it('name what was sent before in vain', () => {
    const limited = { error_kind: 'rate_limit' };
    expect(triesWords([limited, limited, { error_kind: 'network', model: 'a/b' }])).toBe(
      'Too many requests for the provider, 2 times. The provider could not be reached: a/b.',
    );
  });

  it('that were made again say after how long, and others say nothing', () => {
    const next = call(2, { status: 'running', started_at: '2026-01-01T00:00:14Z' });
    expect(retryWords(retryOf([refused, next], refused, true) as Retry, 0)).toBe(
      'Tried again after 4s.',
    );
    expect(retryOf([refused], refused, false)).toBeUndefined();
    const denied = call(1, { error_kind: 'auth', finished_at: '2026-01-01T00:00:10Z' });
    expect(retryOf([denied], denied, true)).toBeUndefined();
  });
});
