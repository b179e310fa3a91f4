import { describe, expect, it } from 'vitest';
import type { ListEvent, Schemas, Waiting } from '../api/types';
import { ListState } from './list';
import { sidebarGroups } from './selectors';

const listed = (id: string, running: number): Schemas['ListedConversation'] => ({
  id,
  by: 'ada',
  title: id,
  workspace: '/w',
  archived: false,
  visibility: 'tenant',
  opened_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  seq: 1,
  number: 1,
  running,
});

const question = (conversation: string, id: string): Waiting => ({
  conversation,
  role: 'coder',
  at: '2026-01-01T00:00:01Z',
  question: {
    id,
    seq: 2,
    agent: 'main',
    task: 'main',
    status: 'relayed',
    text: 'Why?',
    at: '2026-01-01T00:00:01Z',
  },
});

const updated = (id: string, waiting: number, running: number): ListEvent => {
  const { running: _, ...conversation } = listed(id, 0);
  return { type: 'conversation.updated', conversation, waiting, running };
};

const groups = (list: ListState) =>
  Object.fromEntries(
    Object.entries(sidebarGroups(list)).map(([name, rows]) => [name, rows.map((row) => row.id)]),
  );

describe('the list', () => {
  it('knows what runs and what waits as soon as it is read, before the stream says anything', () => {
    const list = new ListState();
    list.load(
      [listed('runs', 2), listed('waits', 1), listed('rests', 0)],
      [question('waits', 'q')],
    );
    expect(groups(list)).toEqual({ needs: ['waits'], running: ['runs'], earlier: ['rests'] });
  });

  it('believes the stream rather than what was asked for before it spoke', () => {
    const list = new ListState();
    const asked = list.reading();
    list.apply(updated('a', 1, 0));
    list.apply({ type: 'inbox.added', item: question('a', 'q1') });
    list.apply({ type: 'inbox.removed', conversation: 'a', question: 'q0' });
    list.load([listed('a', 3)], [question('a', 'q0')], asked);
    expect(list.conversations.get('a')).toMatchObject({ waiting: 1, running: 0 });
    expect(list.inbox.all().map((row) => row.question?.id)).toEqual(['q1']);
  });

  it('takes what is read later for the newer', () => {
    const list = new ListState();
    list.apply(updated('a', 0, 1));
    list.apply({ type: 'inbox.added', item: question('a', 'q1') });
    list.load([listed('a', 0)], []);
    expect(groups(list)).toEqual({ needs: [], running: [], earlier: ['a'] });
    expect(list.inbox.all()).toEqual([]);
  });
});
