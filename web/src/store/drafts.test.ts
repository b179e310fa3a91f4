import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Delta, Event } from '../api/types';
import { ConversationState } from './conversation';
import { GAP } from './drafts';

describe('drafts', () => {
  const delta = (offset: number, text: string, more: Partial<Delta> = {}): Delta => ({
    type: 'message.delta',
    agent_path: 'main',
    message: 'm1',
    began: 1,
    part: 0,
    kind: 'text',
    offset,
    text,
    ...more,
  });
  const textOf = (state: ConversationState) => state.drafts.get('main#m1')?.parts[0]?.text;

  it('counts offsets in bytes and joins what follows', () => {
    const state = new ConversationState('c1');
    state.applyDelta(delta(0, 'é'));
    state.applyDelta(delta(3, 'yz'));
    state.applyDelta(delta(2, 'x'));
    state.applyDelta(delta(0, 'éx'));
    state.applyDelta(delta(2, 'xyz!'));
    expect(textOf(state)).toBe('éxyz!');
  });

  it('begins anew when the reply is begun anew, and passes over the old one', () => {
    const state = new ConversationState('c1');
    state.applyDelta(delta(0, 'old'));
    state.applyDelta(delta(0, 'new', { began: 2 }));
    state.applyDelta(delta(3, 'er'));
    expect(textOf(state)).toBe('new');
  });

  it('stays as it is until one that was begun anew is as long', () => {
    const state = new ConversationState('c1');
    state.applyDelta(delta(0, 'a long beginning'));
    state.applyDelta(delta(0, 'short', { began: 2 }));
    state.applyDelta(delta(16, ' of old'));
    expect(textOf(state)).toBe('a long beginning');
    state.applyDelta(delta(5, ', then longer', { began: 2 }));
    expect(textOf(state)).toBe('short, then longer');
  });

  it('is not ended by a message of another agent that has the same name', () => {
    const state = new ConversationState('c1');
    state.drafts.end('main/1#m1');
    state.applyDelta(delta(0, 'mine'));
    expect(textOf(state)).toBe('mine');
  });

  it('shows what comes after something that was lost, with a gap that can be seen', () => {
    const state = new ConversationState('c1');
    state.applyDelta(delta(40, 'in the '));
    state.applyDelta(delta(47, 'middle'));
    expect(textOf(state)).toBe('\n\n…\n\nin the middle');
    state.applyDelta(delta(60, 'later'));
    expect(textOf(state)).toBe('\n\n…\n\nin the middle\n\n…\n\nlater');
    state.applyDelta(delta(0, `${'x'.repeat(40)}in the middle, and `));
    expect(textOf(state)).toBe(`${'x'.repeat(40)}in the middle, and \n\n…\n\nlater`);
  });

  it('never gets shorter, whatever is lost, comes twice or comes late', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
    const taken = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 40 });
    fc.assert(
      fc.property(text, taken, (whole, places) => {
        const state = new ConversationState('c1');
        const letters = [...whole];
        const bytes = (end: number) =>
          new TextEncoder().encode(letters.slice(0, end).join('')).length;
        let known = new Set<number>();
        for (const [a, b] of places) {
          const from = a % letters.length;
          const to = from + 1 + (b % (letters.length - from));
          state.applyDelta(delta(bytes(from), letters.slice(from, to).join('')));
          for (let at = from; at < to; at++) known = known.add(at);
          // All that has come is there, once, in its order.
          const shown = textOf(state)?.split(GAP).join('');
          expect(shown).toBe(letters.filter((_, at) => known.has(at)).join(''));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('ends with the turn that brings no message, and does not come back', () => {
    const ts = '2026-01-01T00:00:02Z';
    const began = Date.parse(ts) * 1e6 - 1e9;
    const state = new ConversationState('c1');
    state.applyDelta(delta(0, 'stopped', { began }));
    const data = { turn: 1, status: 'cancelled' };
    const about = { seq: 3, type: 'turn.cancelled', ts, conversation: 'c1', agent_path: 'main' };
    state.apply({ ...about, data } as unknown as Event);
    state.whole = 3;
    expect(textOf(state)).toBeUndefined();
    state.applyDelta(delta(7, ' late', { began }));
    expect(textOf(state)).toBeUndefined();
    state.applyDelta(delta(0, 'next', { began: began + 2e9, message: 'm1' }));
    expect(textOf(state)).toBe('next');
  });

  it('stays until its message is there, when the end of the turn comes before it', () => {
    const ts = '2026-01-01T00:00:02Z';
    const state = new ConversationState('c1');
    state.whole = 1;
    const about = { ts, conversation: 'c1', agent_path: 'main' };
    state.applyDelta(delta(0, 'all of it', { began: Date.parse(ts) * 1e6 - 1e9 }));
    const end = {
      ...about,
      seq: 3,
      type: 'turn.completed',
      data: { turn: 1, status: 'completed' },
    };
    state.apply(end as unknown as Event);
    expect(textOf(state)).toBe('all of it');
    const said = { id: 'm1', seq: 2, at: ts, agent: 'main', speaker: 'assistant', parts: [] };
    const message = { ...about, seq: 2, type: 'message.completed', data: said };
    state.apply(message as unknown as Event);
    state.whole = 3;
    expect(textOf(state)).toBeUndefined();
    expect(state.messages.get('main#m1')).toBeDefined();
  });

  it('ends with the message, whichever comes first', () => {
    const state = new ConversationState('c1');
    state.apply({
      seq: 1,
      type: 'message.completed',
      ts: '2026-01-01T00:00:00Z',
      conversation: 'c1',
      agent_path: 'main',
      data: { id: 'm1', seq: 1, at: '', agent: 'main', speaker: 'assistant', parts: [] },
    });
    state.applyDelta(delta(0, 'late'));
    expect(state.drafts.get('main#m1')).toBeUndefined();
  });
});
