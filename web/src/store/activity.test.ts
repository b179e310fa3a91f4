import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Event } from '../api/types';
import { activityOf, agentTree, summaryOf } from './activity';
import { ConversationState } from './conversation';
import { histories } from './histories.fixture';
import { noUsage, ownUsage, plus, totalUsage } from './usage';

function fold(events: readonly Event[], state = new ConversationState('c1')): ConversationState {
  for (const event of events) state.apply(event);
  return state;
}

describe('what agents used', () => {
  it('sums up to what the conversation used', () => {
    fc.assert(
      fc.property(histories, (events) => {
        const state = fold(events);
        const own = state.agents.all().map(({ id }) => ownUsage(state, id));
        expect(own.reduce(plus, noUsage)).toEqual(totalUsage(state));
        expect(summaryOf(state).used).toEqual(totalUsage(state));
      }),
    );
  });
});

describe('the tree', () => {
  it('has every agent once, below the one that called it', () => {
    fc.assert(
      fc.property(histories, (events) => {
        const state = fold(events);
        const rows = agentTree(state);
        expect(rows.map((r) => r.agent.id).sort()).toEqual(
          state.agents
            .all()
            .map((a) => a.id)
            .sort(),
        );
        for (const [i, { agent, depth, below }] of rows.entries()) {
          const under = rows.slice(i + 1, i + 1 + below);
          expect(under.every((r) => r.depth > depth)).toBe(true);
          expect(rows[i + 1 + below]?.depth ?? 0).toBeLessThanOrEqual(depth);
          expect(under.every((r) => r.agent.id.startsWith(`${agent.id}/`))).toBe(true);
        }
      }),
    );
  });
});

it('what an agent did is all of it, and nothing of others', () => {
  fc.assert(
    fc.property(histories, (events) => {
      const state = fold(events);
      const all = state.agents.all().map((a) => activityOf(state, a.id));
      const calls = all.flatMap((a) => a.toolCalls.map((c) => c.id));
      const known = new Set(state.agents.all().map((a) => a.id));
      const expected = state.toolCalls.all().filter((c) => known.has(c.agent));
      expect(calls.sort()).toEqual(expected.map((c) => c.id).sort());
      for (const [i, agent] of state.agents.all().entries()) {
        expect(all[i]?.tasks.every((t) => t.agent === agent.id)).toBe(true);
        expect(all[i]?.given.every((t) => t.parent === agent.id)).toBe(true);
      }
    }),
  );
});
