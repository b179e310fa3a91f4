import { describe, expect, it } from 'vitest';
import { type Entry, find } from './entries';
import { fuzzy } from './fuzzy';

const entry = (group: Entry['group'], text: string, more?: string): Entry => ({
  id: `${group} ${text}`,
  group,
  text,
  icon: null,
  run: () => undefined,
  ...(more === undefined ? {} : { more }),
});

describe('fuzzy', () => {
  it('finds letters in order and says where', () => {
    expect(fuzzy('nc', 'New conversation')?.at).toEqual([0, 4]);
    expect(fuzzy('conv', 'New conversation')?.at).toEqual([4, 5, 6, 7]);
    expect(fuzzy('vn', 'conv')).toBeUndefined();
    expect(fuzzy('', 'anything')?.at).toEqual([]);
  });
  it('takes words in any order, each of which must be there', () => {
    expect(fuzzy('auth add', 'Add JWT auth')).toBeDefined();
    expect(fuzzy('auth tax', 'Add JWT auth')).toBeUndefined();
  });
  it('puts the start of a word before its middle, and what hangs together before what does not', () => {
    const score = (q: string, text: string) => fuzzy(q, text)?.score ?? Number.NEGATIVE_INFINITY;
    expect(score('run', 'Runs')).toBeGreaterThan(score('run', 'Prune'));
    expect(score('set', 'Settings')).toBeGreaterThan(score('set', 'Stop every task'));
  });
  it('does not call letters strewn over a page a find', () => {
    expect(fuzzy('xyz', `x${'a'.repeat(90)}y${'b'.repeat(90)}z`)).toBeUndefined();
  });
  it('takes letters whose lower case is longer', () => {
    expect(fuzzy('stanbul', 'İstanbul')?.at[0]).toBe(1);
  });
});

describe('the palette', () => {
  const entries = [
    entry('Needs you', 'Coder needs approval', 'shell'),
    entry('Conversations', 'Compare queues'),
    entry('Commands', 'Runs'),
    entry('Commands', 'Roles'),
    entry('Messages', 'what the server found'),
  ];
  it('begins with what needs a person', () => {
    expect(find('', entries)[0]?.group).toBe('Needs you');
  });
  it('puts the group with the best find first, and what the server found last', () => {
    const groups = find('co', entries).map((found) => found.group);
    expect(groups[0]).toBe('Conversations');
    expect(groups.at(-1)).toBe('Messages');
  });
  it('searches the quiet words too, and marks only what is in the name', () => {
    const [found] = find('shell', entries);
    expect(found?.text).toBe('Coder needs approval');
    expect(found?.at).toEqual([]);
  });
});
