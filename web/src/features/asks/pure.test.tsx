import { cleanup, render } from '@testing-library/react';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { InboxRow } from '../../store/list';
import { counts, diffLines, patchIn, patchLines } from '../../ui/difflines';
import { Exact } from '../../ui/exact';
import { Arrivals, arrivalLine, SOON } from './arrivals';
import { editable, fieldsOf, readFields } from './editargs';
import { notify, notifyState, switchOff, switchOn } from './notify';
import { coveredBy, lineOf, subjectOf } from './subject';
import { SubjectView } from './subjectview';
import { titled } from './title';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  localStorage.clear();
});

const plain = fc.stringMatching(/^[a-z0-9]{3,12}$/);

describe('what is decided about', () => {
  it('is on the screen whole, whatever the arguments are', () => {
    const value = fc.letrec((tie) => ({
      leaf: fc.oneof(plain, fc.integer(), fc.boolean()),
      any: fc.oneof(
        { depthSize: 'small' },
        tie('leaf'),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(plain, tie('any'), { maxKeys: 3 }),
      ),
    })).any;
    const names = ['command', 'cwd', 'description', 'path', 'old', 'new', 'content', 'url'];
    const args = fc.dictionary(fc.oneof(plain, fc.constantFrom(...names, 'expect')), value, {
      maxKeys: 6,
    });
    const tools = ['shell', 'edit_file', 'write_file', 'web_fetch', 'mcp__docs__find'] as const;
    fc.assert(
      fc.property(fc.constantFrom(...tools), args, (tool, show) => {
        const subject = subjectOf({ tool, show });
        const { container } = render(
          <SubjectView conversation="c" subject={subject} tool={tool} cut={false} />,
        );
        const text = `${container.textContent} ${subject.why ?? ''}`;
        for (const leaf of leaves(show)) expect(text).toContain(leaf);
        cleanup();
      }),
      { numRuns: 150 },
    );
  });

  it('names the host that would be asked, whatever is written before it', () => {
    const show = { url: 'https://go.dev@evil.example:8443/x' };
    expect(subjectOf({ tool: 'web_fetch', show })).toMatchObject({
      kind: 'network',
      host: 'evil.example:8443',
      method: 'GET',
    });
  });

  it('is shown as it is when it is not what the tool takes', () => {
    expect(subjectOf({ tool: 'shell', show: { command: ['rm'] } }).kind).toBe('arguments');
    expect(subjectOf({ tool: 'shell', show: 'no json' })).toMatchObject({ text: 'no json' });
    expect(lineOf({ tool: 'shell', show: '{"command":"ls"}' })).toBe('ls');
  });

  it('is covered by words that name the tool', () => {
    const edit = { tool: 'edit_file', pattern: 'a.go', show: { path: 'a.go', old: 'x', new: 'y' } };
    expect(coveredBy(edit, subjectOf(edit))).toEqual(['edit_file a.go']);
    expect(coveredBy({ tool: 'shell', pattern: '' }, subjectOf(edit))).toEqual([]);
  });
});

function leaves(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.entries(value).flatMap(([, each]) => leaves(each));
}

describe('Exact', () => {
  it('writes padding as its length, so that nothing is pushed out of sight', () => {
    const { container } = render(
      <Exact text={`ls${' '.repeat(400)}; rm${'\n'.repeat(40)}x\u202e`} />,
    );
    expect(container.textContent).toBe('ls400 spaces ; rm\n39 empty lines\nxU+202E');
  });
});

describe('a difference', () => {
  it('has every line of both texts, in order', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        const old = a.map((line) => `${line}\n`).join('');
        const young = b.map((line) => `${line}\n`).join('');
        const lines = diffLines(old, young).filter((line) => line.sign !== '@');
        expect(lines.filter((l) => l.sign !== '+').map((l) => l.text)).toEqual(a);
        expect(lines.filter((l) => l.sign !== '-').map((l) => l.text)).toEqual(b);
      }),
    );
  });

  it('keeps the header of a hunk, its numbers, and everything else of a patch', () => {
    const patch =
      'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -41,2 +41,3 @@ func\n r\n-old\n+new\n+more\n';
    const lines = patchLines(patch);
    expect(lines.map((l) => [l.sign, l.number, l.text])).toEqual([
      ['@', undefined, 'diff --git a/x b/x'],
      ['@', undefined, '--- a/x'],
      ['@', undefined, '+++ b/x'],
      ['@', undefined, '@@ -41,2 +41,3 @@ func'],
      [' ', 41, 'r'],
      ['-', 42, 'old'],
      ['+', 42, 'new'],
      ['+', 43, 'more'],
    ]);
    expect(counts(lines)).toEqual({ added: 2, removed: 1 });
  });

  it('is found behind what a tool says of it, with lines that look like headings', () => {
    const said = 'Edited x.\n@@ -1,2 +1 @@\n a\n--- b\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+++ c\n';
    expect(patchIn(said)?.map((l) => [l.sign, l.text])).toEqual([
      ['@', '@@ -1,2 +1 @@'],
      [' ', 'a'],
      ['-', '-- b'],
      ['@', '--- a/y'],
      ['@', '+++ b/y'],
      ['@', '@@ -0,0 +1 @@'],
      ['+', '++ c'],
    ]);
    expect(patchIn('Nothing was changed.')).toBeUndefined();
  });
});

describe('changed arguments', () => {
  const args = { text: '5', count: 5, on: true, list: ['a'], map: { a: 1 }, none: null };
  const change = (name: string, text: string) =>
    readFields(fieldsOf(args).map((f) => (f.name === name ? { ...f, text } : f)));

  it('are not offered where the page would send something else than was changed', () => {
    expect(editable('write_file', args)).toBe(true);
    expect(editable('merge_patch', args)).toBe(false);
    expect(editable('write_file', { deep: [{ size: 2 ** 60 }] })).toBe(false);
    expect(editable('write_file', { share: 0.1 })).toBe(true);
  });

  it('keep their types', () => {
    expect(readFields(fieldsOf(args))).toEqual({ args, problems: {}, changed: false });
    expect(change('text', '7').args).toEqual({ ...args, text: '7' });
    expect(change('count', '7').args).toEqual({ ...args, count: 7 });
    expect(change('on', 'false').args).toEqual({ ...args, on: false });
    expect(change('list', '["b"]').args).toEqual({ ...args, list: ['b'] });
  });

  it('are refused when they are of another type', () => {
    for (const [name, text] of [
      ['count', 'seven'],
      ['count', ''],
      ['count', '1.5'],
      ['list', '{}'],
      ['list', '['],
      ['map', '[]'],
      ['map', '3'],
    ] as const) {
      expect(change(name, text).problems[name], `${name} ${text}`).toBeTruthy();
    }
  });
});

const row = (id: string, until?: string): InboxRow =>
  ({
    id,
    seq: 1,
    role: 'coder',
    conversation: 'c',
    at: '',
    approval: { id, tool: 'shell', show: {}, ...(until ? { until } : {}) },
  }) as unknown as InboxRow;

describe('arrivals', () => {
  it('are what was not there at the last look, and nothing at the first', () => {
    const arrivals = new Arrivals();
    expect(arrivals.arrived([row('a')])).toEqual([]);
    expect(arrivals.arrived([row('a'), row('b')]).map((r) => r.id)).toEqual(['b']);
    expect(arrivals.arrived([row('a'), row('b')])).toEqual([]);
    expect(arrivalLine([row('b')])).toBe('Coder needs approval. Control period to go there.');
    expect(arrivalLine([row('a'), row('b')])).toBe(
      '2 things need you. Control period to go there.',
    );
  });

  it('are spoken of once when they are about to expire', () => {
    const arrivals = new Arrivals();
    const now = Date.parse('2026-01-01T00:00:00Z');
    const soon = new Date(now + SOON - 1000).toISOString();
    const later = new Date(now + SOON + 5000).toISOString();
    const rows = [row('soon', soon), row('later', later), row('never')];
    const first = arrivals.expiring(rows, now);
    expect([first.soon.map((r) => r.id), first.next]).toEqual([['soon'], 5000]);
    expect(arrivals.expiring(rows, now).soon).toEqual([]);
    expect(arrivals.expiring(rows, now + 5000).soon.map((r) => r.id)).toEqual(['later']);
  });
});

describe('the title', () => {
  it('has the number of what waits before it, once', () => {
    expect(titled('Retinue', 3)).toBe('(3) Retinue');
    expect(titled('(3) Retinue', 2)).toBe('(2) Retinue');
    expect(titled('(3) Retinue', 0)).toBe('Retinue');
  });
});

describe('notifications', () => {
  it('come only after a person has asked for them, and while nobody looks', async () => {
    const made: string[] = [];
    const asked = vi.fn(async () => 'granted' as const);
    class Played {
      static permission = 'default';
      static requestPermission = async () => {
        Played.permission = await asked();
        return Played.permission;
      };
      onclick: (() => void) | null = null;
      constructor(title: string) {
        made.push(title);
      }
    }
    vi.stubGlobal('Notification', Played);
    const looking = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
    notify('a', 'before', '', () => undefined);
    expect([notifyState(), asked.mock.calls.length]).toEqual(['off', 0]);
    await switchOn();
    notify('a', 'hidden', '', () => undefined);
    looking.mockReturnValue('visible');
    notify('b', 'visible', '', () => undefined);
    looking.mockReturnValue('hidden');
    switchOff();
    notify('c', 'off again', '', () => undefined);
    expect(made).toEqual(['hidden']);
    looking.mockRestore();
  });
});
