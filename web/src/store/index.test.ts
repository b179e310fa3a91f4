import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConversationState } from './conversation';
import { histories } from './histories.fixture';
import { Index } from './index';
import { childrenOf, tasksOf, toolCallsOf, transcript } from './selectors';
import { Table } from './table';
import { noUsage, ownUsage, plus, subtreeUsage, totalUsage } from './usage';

interface Thing {
  id: string;
  seq: number;
  group?: string;
}

describe('an index', () => {
  it('has the rows that a search of the whole table finds, whenever it is asked', () => {
    const steps = fc.array(
      fc.record({
        what: fc.constantFrom('bear', 'put', 'first', 'remove', 'clear', 'look', 'look', 'many'),
        id: fc.nat(20).map(String),
        group: fc.constantFrom('a', 'b', 'c', undefined),
        seq: fc.integer({ min: 1, max: 50 }),
      }),
      { maxLength: 80 },
    );
    fc.assert(
      fc.property(steps, (list) => {
        const table = new Table<Thing>();
        const index = new Index(table, (row) => row.group);
        const rows = new Set<string>();
        for (const { what, id, group, seq } of list) {
          if (what === 'bear') table.bear(id, { group, seq }, seq);
          else if (what === 'put') table.put(id, { group }, seq);
          else if (what === 'first') table.first(id, { seq }, seq);
          else if (what === 'remove') table.remove(id);
          else if (what === 'clear') table.clear();
          else if (what === 'many') {
            for (let i = 0; i < 400; i++) table.put(id, { group: `${i}` }, 1_000 + seq * 400 + i);
          } else check(table, index);
          rows.add(id);
        }
        check(table, index);
        for (const id of rows) expect(table.all().find((row) => row.id === id)).toBe(table.get(id));
      }),
      { numRuns: 600 },
    );
  });

  it('has a row once that was removed and came again', () => {
    const table = new Table<Thing>();
    table.bear('1', { group: 'a', seq: 1 }, 1);
    expect(table.all()).toHaveLength(1);
    table.remove('1');
    table.bear('1', { group: 'b', seq: 5 }, 5);
    expect(table.all()).toEqual([{ id: '1', group: 'b', seq: 5 }]);
  });

  function check(table: Table<Thing>, index: Index<Thing>): void {
    const all = table.all();
    const sorted = [...all].sort((a, b) => a.seq - b.seq || (a.id < b.id ? -1 : 1));
    expect(all).toEqual(sorted);
    for (const key of ['a', 'b', 'c', '7']) {
      expect(index.of(key)).toEqual(all.filter((row) => row.group === key));
      expect(index.of(key)).toBe(index.of(key));
    }
  }

  it('sums what was used as adding up all calls does, at any point of a history', () => {
    fc.assert(
      fc.property(histories, (events) => {
        const state = new ConversationState('c1');
        for (const event of events) {
          state.apply(event);
          const calls = state.modelCalls.all().filter((call) => call.ended > 0);
          const sum = (list: typeof calls) => list.reduce((a, c) => plus(a, c.usage), noUsage);
          expect(totalUsage(state)).toEqual(sum(calls));
          for (const { id } of state.agents.all()) {
            expect(ownUsage(state, id)).toEqual(sum(calls.filter((c) => c.agent === id)));
            const below = calls.filter((c) => c.agent === id || c.agent.startsWith(`${id}/`));
            expect(subtreeUsage(state, id)).toEqual(sum(below));
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('does not read a thousand agents again for a change of one', () => {
    const state = new ConversationState('c1');
    const agents = Array.from({ length: 1_000 }, (_, i) => `main/${i}`);
    let seq = 1;
    for (const id of agents) {
      state.agents.bear(id, { seq: seq++, parent: 'main', depth: 1, role: 'coder', task: id }, seq);
      for (let i = 0; i < 100; i++) {
        const message = { agent: id, speaker: 'assistant' as const, parts: [], at: '', seq: seq++ };
        state.messages.bear(`${id}#${i}`, message, seq);
      }
    }
    const look = () => {
      childrenOf(state, 'main');
      for (const id of agents) for (const f of [transcript, tasksOf, toolCallsOf]) f(state, id);
    };
    look();
    const kept = transcript(state, 'main/5');
    let sorts = 0;
    const sort = Array.prototype.sort;
    Array.prototype.sort = function counted(...args) {
      sorts += this.length;
      return sort.apply(this, args);
    };
    try {
      for (let round = 0; round < 20; round++) {
        state.messages.bear(`main/7#new${round}`, { agent: 'main/7', parts: [], seq: seq++ }, seq);
        look();
        state.messages.all();
      }
    } finally {
      Array.prototype.sort = sort;
    }
    expect(transcript(state, 'main/5')).toBe(kept);
    expect(transcript(state, 'main/7')).toHaveLength(120);
    // The group of one agent, twenty times, and the whole table once.
    expect(sorts).toBeLessThan(110_000);
  });
});
