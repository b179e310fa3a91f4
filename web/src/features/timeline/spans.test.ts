import { describe, expect, it } from 'vitest';
import type { TaskRow } from '../../store/rows';
import { together } from './pages';
import { segments } from './segments';
import { busyOf, type Done, lifeOf, spansOf } from './spans';

const at = (s: number): string => new Date(Date.UTC(2026, 0, 1) + s * 1000).toISOString();
const ms = (s: number): number => Date.parse(at(s));

const task = (fields: Partial<TaskRow> = {}): TaskRow => ({
  id: 'main/1.0.0',
  agent: 'main/1.0.0',
  seq: 1,
  status: 'running',
  assigned_at: at(0),
  started_at: at(1),
  ...fields,
});
const nothing: Done = {
  tasks: [task()],
  modelCalls: [],
  toolCalls: [],
  approvals: [],
  questions: [],
  given: [],
};
const call = { task: 'main/1.0.0', agent: 'main/1.0.0', seq: 2, turn: 1 };
const approval = {
  id: 'a1',
  agent: 'main/1.0.0',
  task: 'main/1.0.0',
  call: '1.0',
  tool: 'shell',
  hash: '',
  seq: 3,
  at: at(10),
};
const shown = (done: Done, now: number) =>
  segments(spansOf(done, ms(now))).map((s) => [
    s.doing,
    (s.from - ms(0)) / 1000,
    (s.to - ms(0)) / 1000,
  ]);

describe('what is shown of an agent', () => {
  it('goes on until now while it runs, and until its end when it was cut short', () => {
    const modelCalls = [
      {
        ...call,
        call: '1.1',
        status: 'running' as const,
        type: 'prompt',
        model: 'm',
        started_at: at(2),
      },
    ];
    expect(shown({ ...nothing, modelCalls }, 30)).toEqual([['model', 2, 30]]);
    const cut = task({ status: 'timed_out', finished_at: at(20) });
    expect(shown({ ...nothing, modelCalls, tasks: [cut] }, 30)).toEqual([['model', 2, 20]]);
  });

  it('waits for you from the ask until the tool began, or was denied, or now', () => {
    const tool = { ...call, call: '1.0', tool: 'shell' };
    const open = { ...nothing, approvals: [{ ...approval, status: 'open' as const }] };
    const asked = [{ ...tool, status: 'waiting_approval' as const }];
    expect(shown({ ...open, toolCalls: asked }, 40)).toEqual([['you', 10, 40]]);
    const allowed = { ...nothing, approvals: [{ ...approval, status: 'approved' as const }] };
    const ran = { ...tool, status: 'completed' as const, started_at: at(25), finished_at: at(28) };
    expect(shown({ ...allowed, toolCalls: [ran] }, 40)).toEqual([
      ['you', 10, 25],
      ['tool', 25, 28],
    ]);
    const denied = { ...nothing, approvals: [{ ...approval, status: 'denied' as const }] };
    const not = { ...tool, status: 'denied' as const, finished_at: at(22) };
    expect(shown({ ...denied, toolCalls: [not] }, 40)).toEqual([['you', 10, 22]]);
  });

  it('waits for you with a question only if it went to you', () => {
    const question = {
      id: 'main/1.0.0#2.0',
      agent: 'main/1.0.0',
      task: 'main/1.0.0',
      seq: 4,
      at: at(5),
    };
    const toolCalls = [
      { ...call, call: '2.0', tool: 'ask_user', status: 'completed' as const, finished_at: at(9) },
    ];
    const ask = (fields: object) => ({
      ...nothing,
      toolCalls,
      questions: [{ ...question, ...fields }] as never,
    });
    expect(shown(ask({ status: 'relayed' }), 30)).toEqual([['you', 5, 30]]);
    expect(shown(ask({ status: 'closed', by: 'user' }), 30)).toEqual([['you', 5, 9]]);
    expect(shown(ask({ status: 'closed', by: 'orchestrator' }), 30)).toEqual([]);
    expect(shown(ask({ status: 'open' }), 30)).toEqual([]);
  });

  it('waits for those that it gave work to, unless they work in the background', () => {
    const child = task({ id: 'x', agent: 'x', parent: 'main/1.0.0', assigned_at: at(3) });
    expect(shown({ ...nothing, given: [child] }, 30)).toEqual([['agents', 3, 30]]);
    expect(shown({ ...nothing, given: [{ ...child, background: true }] }, 30)).toEqual([]);
  });

  it('lasts from its start to its end', () => {
    expect(lifeOf(nothing, [], ms(30))).toEqual({ from: ms(1), to: ms(30) });
    const over = { ...nothing, tasks: [task({ status: 'completed', finished_at: at(12) })] };
    expect(lifeOf(over, [], ms(30))).toEqual({ from: ms(1), to: ms(12) });
    const { started_at: _, ...queued } = task({ status: 'queued' });
    expect(lifeOf({ ...nothing, tasks: [queued] }, [], ms(30))).toBeUndefined();
    const { started_at: _start, ...old } = task({ status: 'completed', finished_at: at(12) });
    const unknown = { ...nothing, tasks: [old] };
    expect(lifeOf(unknown, [], ms(30))).toBeUndefined();
    const worked = [{ from: ms(3), to: ms(9), doing: 'agents' as const, label: '' }];
    expect(lifeOf(unknown, worked, ms(30))).toEqual({ from: ms(3), to: ms(12) });
  });
});

describe('when somebody worked', () => {
  it('is while calls ran, and where they are not known while nobody was waited for', () => {
    const modelCalls = [
      {
        ...call,
        call: '1.1',
        status: 'completed' as const,
        type: '',
        started_at: at(2),
        finished_at: at(6),
      },
    ];
    const approvals = [{ ...approval, status: 'open' as const }];
    const done = { ...nothing, modelCalls, approvals };
    expect(busyOf(done, true, ms(60))).toEqual([{ from: ms(2), to: ms(6) }]);
    expect(busyOf({ ...done, modelCalls: [] }, false, ms(60))).toEqual([
      { from: ms(1), to: ms(10) },
    ]);
  });
});

it('pages and events are one: what began before the page was opened ends in an event', () => {
  const started = {
    ...call,
    call: '1.0',
    tool: 'shell',
    status: 'running' as const,
    started_at: at(2),
  };
  const pages = { as_of: 5, modelCalls: [], toolCalls: [started] };
  const { started_at: _, ...ended } = {
    ...started,
    status: 'completed' as const,
    finished_at: at(9),
  };
  const activity = { ...nothing, modelCalls: [], toolCalls: [{ ...ended, id: 'main/1.0.0#1.0' }] };
  const done = together(activity, pages);
  expect(shown(done, 30)).toEqual([['tool', 2, 9]]);
});
