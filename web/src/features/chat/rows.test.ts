import { beforeEach, describe, expect, it } from 'vitest';
import type { Event, Snapshot } from '../../api/types';
import { chatItems, isBusy, isWhole, queued } from '../../store/chat';
import { ConversationState } from '../../store/conversation';
import type { TaskRow } from '../../store/rows';
import { isStopping, isStoppingAll } from '../../store/stopping';
import { Disclosure } from './disclosure';
import type { Row } from './row';
import { MANY, rowsOf } from './rows';
import { findTarget } from './target';

let seq = 0;
const at = '2026-11-15T10:00:00Z';

function event(type: string, data: object, place: { agent?: string; task?: string } = {}): Event {
  seq++;
  const { agent, task = agent } = place;
  const of = agent === undefined ? {} : { agent_path: agent, task };
  return { seq, type, ts: at, conversation: 'c', data: { ...data }, ...of } as unknown as Event;
}

const main = { agent: 'main' };
const say = (number: number, text: string) => {
  const id = `p${number}`;
  const parts = [{ kind: 'text', text }];
  return event('message.received', {
    id,
    seq: seq + 1,
    number,
    at,
    agent: '',
    speaker: 'user',
    parts,
  });
};
const read = (...reads: number[]) => {
  const row = {
    id: `m${seq}`,
    seq: seq + 1,
    at,
    agent: 'main',
    speaker: 'user',
    parts: [],
    reads,
  };
  return event('message.completed', row, main);
};
const reply = (turn: number, text: string) => {
  const parts = [{ kind: 'text', text }];
  const row = {
    id: `t${turn}`,
    seq: seq + 1,
    at,
    agent: 'main',
    speaker: 'assistant',
    turn,
    parts,
  };
  return event('message.completed', row, main);
};
const spawn = (agent: string, call: string, item: number, parent = 'main') =>
  event(
    'agent.spawned',
    { parent, parent_call: call, item, depth: agent.split('/').length - 1, role: 'coder' },
    { agent },
  );
const begin = () => [
  event('conversation.created', { by: 'ada', title: 'T', workspace: '/w' }),
  event('agent.spawned', { depth: 0, role: 'main' }, main),
];
const busy = () => event('agent.resumed', { status: 'running' }, main);

function stateOf(...events: Event[]): ConversationState {
  const state = new ConversationState('c');
  for (const each of events) state.apply(each);
  return state;
}

const kinds = (rows: readonly Row[]) => rows.map((row) => row.kind).join(' ');
const texts = (rows: readonly Row[]) =>
  rows.flatMap((row) => (row.kind === 'block' ? [row.raw.trim()] : []));
const disclosure = () => Disclosure.of('c');

beforeEach(() => {
  seq = 0;
  sessionStorage.clear();
  Disclosure.forget();
});

describe('the rows of the chat', () => {
  it('draws each block of a message by itself, under one heading per turn', () => {
    const state = stateOf(
      ...begin(),
      say(1, 'Hello'),
      read(1),
      busy(),
      reply(1, 'One.\n\nTwo.'),
      spawn('main/1.0.0', '1.0', 0),
      reply(2, 'Three.'),
    );
    const rows = rowsOf(state, disclosure());
    expect(kinds(rows)).toBe('posted heading block block task block');
    expect(texts(rows)).toEqual(['One.', 'Two.', 'Three.']);
    expect(new Set(rows.slice(1).map((row) => row.turn)).size).toBe(1);
  });

  it('puts what was posted where it was read, and until then into the queue', () => {
    const state = stateOf(...begin(), say(1, 'Go'), read(1), busy(), say(2, 'Faster'));
    state.apply(reply(1, 'Working on it.'));
    expect(queued(state).map((m) => m.number)).toEqual([2]);
    expect(kinds(rowsOf(state, disclosure()))).toBe('posted heading block working');
    state.apply(read(2));
    state.apply(reply(2, 'Faster now.'));
    expect(queued(state)).toEqual([]);
    const rows = rowsOf(state, disclosure());
    expect(kinds(rows)).toBe('posted heading block posted heading block working');
  });

  it('shows at once what is posted while nothing is under way', () => {
    const state = stateOf(...begin(), event('agent.queued', { status: 'completed' }, main));
    state.apply(say(1, 'Go'));
    expect(queued(state)).toEqual([]);
    expect(kinds(rowsOf(state, disclosure()))).toBe('posted');
  });

  it('never queues an answer to a question', () => {
    const state = stateOf(...begin(), busy(), say(1, 'Green'));
    expect(queued(state)).toHaveLength(1);
    state.apply(event('note.added', { note: 'forwarded', number: 1, question: 'q' }, main));
    expect(queued(state)).toEqual([]);
    state.apply(say(2, 'And something else'));
    state.apply(event('note.added', { note: 'kept_as_request', number: 2 }, main));
    expect(queued(state).map((m) => m.number)).toEqual([2]);
  });

  it('gives a draft the keys that its message will have', () => {
    const state = stateOf(...begin(), say(1, 'Go'), read(1), busy());
    const delta = { agent_path: 'main', message: 't1', began: 1, part: 0, kind: 'text', offset: 0 };
    state.applyDelta({ ...delta, type: 'message.delta', text: 'One.\n\nTwo.\n\nThr' });
    const before = rowsOf(state, disclosure()).map((row) => row.key);
    expect(rowsOf(state, disclosure()).at(-1)).toMatchObject({ kind: 'block', open: true });
    state.apply(reply(1, 'One.\n\nTwo.\n\nThree.'));
    state.apply(event('agent.queued', { status: 'completed' }, main));
    expect(rowsOf(state, disclosure()).map((row) => row.key)).toEqual(before);
  });

  it('gives the same objects for what did not change', () => {
    const state = stateOf(...begin(), say(1, 'Go'), read(1), busy(), reply(1, 'One.\n\nTwo.'));
    const before = rowsOf(state, disclosure());
    state.apply(spawn('main/1.0.0', '1.0', 0));
    const after = rowsOf(state, disclosure());
    const kept = before.filter((row) => row.kind !== 'working');
    for (const row of kept) expect(after).toContain(row);
    expect(rowsOf(state, disclosure()).every((row, i) => row === after[i])).toBe(true);
  });
});

describe('groups of tasks', () => {
  const group = (count: number) => {
    const tasks = Array.from({ length: count }, (_, i) => spawn(`main/1.0.${i}`, '1.0', i));
    return stateOf(...begin(), say(1, 'Go'), read(1), busy(), reply(1, 'Go.'), ...tasks);
  };

  it('folds one that is long, and keeps open what a person opened, across a reload', () => {
    const state = group(1000);
    const shown = () => rowsOf(state, disclosure()).filter((row) => row.kind === 'task').length;
    expect(shown()).toBe(MANY);
    const fold = rowsOf(state, disclosure()).find((row) => row.kind === 'fold');
    expect(fold).toMatchObject({ hidden: 1000 - MANY, edge: 'last' });
    disclosure().set('g main#1.0 all', true);
    expect(shown()).toBe(1000);
    Disclosure.forget();
    expect(shown()).toBe(1000);
  });

  it('does not fold away a task that waits for a person', () => {
    const state = group(100);
    const waiting = { status: 'waiting', waiting_reason: 'approval' };
    state.apply(event('agent.waiting', waiting, { agent: 'main/1.0.77' }));
    const rows = rowsOf(state, disclosure());
    expect(rows.some((row) => row.kind === 'task' && row.task === 'main/1.0.77')).toBe(true);
  });

  it('nests to three levels and links to what is deeper', () => {
    const path = ['main/1.0.0', 'main/1.0.0/1.0.0', 'main/1.0.0/1.0.0/1.0.0'];
    const deepest = `${path[2]}/1.0.0`;
    const state = stateOf(...begin(), busy(), reply(1, 'Go.'), spawn(path[0] as string, '1.0', 0));
    state.apply(spawn(path[1] as string, '1.0', 0, path[0]));
    state.apply(spawn(path[2] as string, '1.0', 0, path[1]));
    state.apply(spawn(deepest, '1.0', 0, path[2]));
    for (const agent of path) state.apply(event('agent.started', { status: 'running' }, { agent }));
    const rows = rowsOf(state, disclosure());
    const depths = rows.flatMap((row) => (row.kind === 'task' ? [row.depth] : []));
    expect(depths).toEqual([0, 1, 2]);
    expect(rows.at(-1)).toMatchObject({ kind: 'deeper', task: path[2] });
  });

  it('keeps open what was open by itself when it ends', () => {
    const state = group(1);
    const place = { agent: 'main/1.0.0' };
    state.apply(event('agent.started', { status: 'running' }, place));
    const open = () => rowsOf(state, disclosure()).find((row) => row.kind === 'task');
    expect(open()).toMatchObject({ open: true });
    state.apply(event('agent.completed', { status: 'completed' }, place));
    expect(open()).toMatchObject({ open: true });
  });
});

describe('what is not there yet', () => {
  it('leaves out what lies before the oldest message', () => {
    const state = stateOf(...begin(), spawn('main/0.0.0', '0.0', 0), say(7, 'Later'), read(7));
    expect(isWhole(state)).toBe(false);
    expect(chatItems(state).map((item) => item.kind)).toEqual(['message']);
  });

  it('finds the row that an address names', () => {
    const state = stateOf(...begin(), say(1, 'Go'), read(1), busy(), reply(4, 'One.'));
    const rows = rowsOf(state, disclosure());
    expect(rows[findTarget(rows, '#m-3')]).toMatchObject({ kind: 'posted' });
    expect(rows[findTarget(rows, 't-4')]).toMatchObject({ kind: 'heading', number: 4 });
    expect(rows[findTarget(rows, 't-5')]).toMatchObject({ kind: 'heading', number: 4 });
    expect(findTarget(rows, 't-3')).toBe(-1);
    expect(findTarget(rows, '#m-99')).toBe(-1);
    expect(findTarget(rows, '#m-3x')).toBe(-1);
  });
});

describe('the orchestrator', () => {
  it('goes on after a snapshot that found it done', () => {
    const usage = {
      input: 0,
      output: 0,
      cache_read: 0,
      cache_write: 0,
      reasoning: 0,
      cost_micro_usd: 0,
      unpriced_calls: 0,
    };
    const state = new ConversationState('c');
    const head = { id: 'c', by: 'ada', title: 'T', workspace: '/w', number: 0, archived: false };
    const task = { id: 'main', agent: 'main', seq: 2, assigned_at: at, status: 'completed' };
    state.load({
      conversation: { ...head, seq: 9, opened_at: at, updated_at: at },
      tasks: [task],
      agents: [{ id: 'main', depth: 0, role: 'main', task: 'main', own: usage, subtree: usage }],
      ...{ messages: [], questions: [], approvals: [], notes: [], turns: [] },
      ...{ used: usage, held_tokens: 0, held_micro_usd: 0 },
    } as unknown as Snapshot);
    expect(isBusy(state)).toBe(false);
    seq = 10;
    state.apply(busy());
    expect(isBusy(state)).toBe(true);
  });
});

describe('stopping', () => {
  const main1 = (state: ConversationState) => state.tasks.get('main') as TaskRow;

  it('of everything lasts from the request to the end of the turn, and is over in the next', () => {
    const state = stateOf(...begin(), say(1, 'Go'), read(1), busy());
    const both = () => [isStoppingAll(state), isStopping(state, main1(state))];
    expect(both()).toEqual([false, false]);
    state.apply(event('cancel.requested', { by: 'ada' }));
    expect(both()).toEqual([true, true]);
    state.apply(event('turn.cancelled', { turn: 1, status: 'cancelled', by: 'ada' }, main));
    expect(both()).toEqual([false, false]);
    state.apply(say(2, 'Again'));
    state.apply(read(2));
    state.apply(busy());
    expect(both()).toEqual([false, false]);
  });

  it('of everything lasts until the last agent in the background has come to rest', () => {
    const agent = 'main/1.0.0';
    const state = stateOf(...begin(), spawn(agent, '1.0', 0));
    state.apply(event('agent.settled', { status: 'completed' }, main));
    expect(isStoppingAll(state)).toBe(false);
    state.apply(event('cancel.requested', { by: 'ada' }));
    expect(isStoppingAll(state)).toBe(true);
    state.apply(event('agent.cancelled', { status: 'cancelled', reason: 'user' }, { agent }));
    expect(isStoppingAll(state)).toBe(false);
  });
});
