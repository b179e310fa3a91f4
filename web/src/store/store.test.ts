import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Event, Snapshot } from '../api/types';
import { ConversationState } from './conversation';
import { histories } from './histories.fixture';
import { snapshotAfter } from './snapshots.fixture';
import { totalUsage } from './usage';

const tables = [
  'head',
  'messages',
  'agents',
  'tasks',
  'toolCalls',
  'modelCalls',
  'approvals',
  'questions',
  'notes',
  'turns',
  'stops',
  'grants',
] as const;

/** All that can be seen of a state. */
function seen(state: ConversationState) {
  const rows = Object.fromEntries(tables.map((name) => [name, state[name].all()]));
  return { ...rows, seq: state.seq, read: [...state.read].sort(), used: totalUsage(state) };
}

function fold(events: readonly Event[]): ConversationState {
  const state = new ConversationState('c1');
  for (const event of events) state.apply(event);
  return state;
}

/** What remains when fields that only events bring are left out. */
function asSnapshotSays(state: ConversationState) {
  return JSON.parse(
    JSON.stringify({
      head: state.head.all(),
      seq: state.seq,
      used: totalUsage(state),
      agents: state.agents.all(),
      tasks: state.tasks.all().map((task) => ({
        id: task.id,
        seq: task.seq,
        agent: task.agent,
        parent: task.parent,
        status: task.status,
        waiting_reason: task.waiting_reason,
        error_kind: task.error_kind,
        assigned_at: task.assigned_at,
        started_at: task.started_at,
        finished_at: task.finished_at,
      })),
      messages: state.messages.all().filter((m) => m.agent === 'main' || m.agent === ''),
      notes: state.notes.all(),
      turns: state.turns
        .all()
        .filter((turn) => turn.status !== undefined)
        .map(({ voided: _, ...turn }) => turn),
      questions: state.questions
        .all()
        .map(({ answer: _, answered_at: _at, number: _number, ...question }) => question),
      approvals: state.approvals.all().map(({ note: _, decided_at: _at, ...approval }) => approval),
    }),
  );
}

describe('the store', () => {
  it('comes to the same state in whatever order events come, and however often', () => {
    const shuffled = histories.chain((events) =>
      fc.tuple(
        fc.constant(events),
        fc.shuffledSubarray(events, { minLength: events.length }),
        fc.array(fc.nat(Math.max(0, events.length - 1)), { maxLength: 20 }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([events, order, again]) => {
        const repeated = again.map((at) => events[at]).filter((e) => e !== undefined);
        expect(seen(fold([...order, ...repeated]))).toEqual(seen(fold(events)));
      }),
      { numRuns: 600 },
    );
  });

  it('comes to the same state from a snapshot and the rest as from all events', () => {
    const cut = histories.chain((events) => fc.tuple(fc.constant(events), fc.nat(events.length)));
    fc.assert(
      fc.property(cut, fc.boolean(), ([events, at], late) => {
        const size = Math.max(1, at);
        const snapshot = snapshotAfter(events.slice(0, size));
        const state = late ? fold(events.slice(size)) : new ConversationState('c1');
        state.load(snapshot);
        if (!late) for (const event of events.slice(size)) state.apply(event);
        expect(asSnapshotSays(state)).toEqual(asSnapshotSays(fold(events)));
      }),
      { numRuns: 600 },
    );
  });

  it('knows all that events say when history is read after a snapshot', () => {
    fc.assert(
      fc.property(histories, (events) => {
        const state = new ConversationState('c1');
        state.load(snapshotAfter(events));
        for (const event of events) state.apply(event);
        expect(seen(state)).toEqual(seen(fold(events)));
      }),
      { numRuns: 600 },
    );
  });

  it('keeps what was said whole when a snapshot has the beginning of it, whichever comes first', () => {
    const long = 'word '.repeat(200).trim();
    const about = {
      conversation: 'c1',
      agent_path: 'main/1',
      task: 't1',
      ts: '2026-01-01T00:00:00Z',
    };
    const spawned = { depth: 1, role: 'coder', instruction: long, files: ['told.md'] };
    const receipt = { verdict: 'verified' };
    const done = { status: 'completed', summary: long, files: ['made.go'], receipt };
    const events = [
      { ...about, seq: 1, type: 'agent.spawned', data: spawned },
      { ...about, seq: 2, type: 'agent.settled', data: { status: 'pending' } },
      { ...about, seq: 3, type: 'agent.completed', data: done },
    ] as unknown as Event[];
    const task = { id: 't1', agent: 'main/1', seq: 1, status: 'completed', assigned_at: about.ts };
    const cut = { title: `${long.slice(0, 199)}…`, summary: `${long.slice(0, 399)}…` };
    const made = { changed_files: ['made.go'], changed_count: 1, verdict: 'verified' };
    const snapshot = {
      ...snapshotAfter([]),
      tasks: [{ ...task, ...cut, ...made, finished_at: about.ts }],
    } as unknown as Snapshot;
    snapshot.conversation.seq = 3;
    const [before, after, alone] = [1, 2, 3].map(() => new ConversationState('c1'));
    before?.load(snapshot);
    for (const event of events) for (const state of [before, after, alone]) state?.apply(event);
    after?.load(snapshot);
    for (const state of [before, after, alone]) {
      const row = state?.tasks.get('t1');
      expect(row).toMatchObject({ ...made, summary: long, title: cut.title, files: ['told.md'] });
    }
  });

  it('passes over events that it does not know', () => {
    const state = new ConversationState('c1');
    const event = { seq: 5, type: 'later.invented', ts: '', conversation: 'c1', data: {} };
    state.apply(event as unknown as Event);
    expect(state.seq).toBe(5);
  });
});
