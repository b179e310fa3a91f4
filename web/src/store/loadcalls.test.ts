import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Event, Message, ModelCall, ToolCall } from '../api/types';
import { ConversationState } from './conversation';
import { histories } from './histories.fixture';
import { loadModelCall, loadToolCall, loadTranscriptMessage } from './loadcalls';
import { snapshotAfter } from './snapshots.fixture';
import { totalUsage } from './usage';

function fold(events: readonly Event[]): ConversationState {
  const state = new ConversationState('c1');
  for (const event of events) state.apply(event);
  return state;
}

/** What listings say of calls when all of a history has happened. */
function listed(full: ConversationState): { tools: ToolCall[]; models: ModelCall[] } {
  const tools = full.toolCalls.all().map((row) => {
    const { id: _, args: _args, preview: _preview, reason: _reason, ...call } = row;
    const { effect_class: _effect, ...wire } = call;
    return wire as ToolCall;
  });
  const models = full.modelCalls.all().map((row) => {
    const { id: _, ended: _ended, first_token_ms: _first, message: _message, ...call } = row;
    const { duration_ms: _duration, ...wire } = call;
    return wire as ModelCall;
  });
  return { tools, models };
}

const outcome = (state: ConversationState) => ({
  tools: state.toolCalls.all().map(({ id, status, tool, turn }) => ({ id, status, tool, turn })),
  models: state.modelCalls.all().map(({ id, status }) => ({ id, status })),
});

describe('listings of calls', () => {
  it('say the same as events, whichever comes first, and count nothing twice', () => {
    fc.assert(
      fc.property(histories, fc.nat(), fc.nat(), fc.boolean(), (events, cut, later, early) => {
        if (events.length === 0) return;
        // What happened before the snapshot is known from it and from the listing only.
        const at = cut % events.length;
        const mid = at + (later % (events.length - at));
        const then = fold(events.slice(0, mid));
        const full = fold(events);
        const state = new ConversationState('c1');
        const list = () => {
          for (const call of listed(then).tools) loadToolCall(state, call, then.seq);
          for (const call of listed(then).models) loadModelCall(state, call);
        };
        state.load(snapshotAfter(events.slice(0, at)));
        if (early) list();
        for (const event of events.slice(at)) state.apply(event);
        if (!early) list();
        expect(outcome(state)).toEqual(outcome(full));
        expect(totalUsage(state)).toEqual(totalUsage(full));
      }),
      { numRuns: 300 },
    );
  });
});

describe('a message of a transcript', () => {
  const message: Message = {
    id: 't1',
    seq: 4,
    agent: 'main/1',
    at: '2026-01-01T00:00:00Z',
    speaker: 'assistant',
    turn: 1,
    parts: [{ kind: 'tool_use', call: '1.0', tool: 'shell', args: '{"command":"ls"}' }],
  };

  it('makes its calls known without a say in what became of them', () => {
    const state = new ConversationState('c1');
    const done: ToolCall = {
      call: '1.0',
      seq: 4,
      agent: 'main/1',
      task: 'main/1',
      tool: 'shell',
      turn: 1,
      status: 'failed',
    };
    loadToolCall(state, done, 9);
    loadTranscriptMessage(state, message);
    const [row] = state.toolCalls.all();
    expect(row).toMatchObject({ status: 'failed', args: '{"command":"ls"}' });
  });

  it('does not bring whole outputs into the store', () => {
    const state = new ConversationState('c1');
    const result = { kind: 'tool_result', call: '1.0', text: 'x'.repeat(50_000) } as const;
    loadTranscriptMessage(state, { ...message, id: 'm1', speaker: 'user', parts: [result] });
    expect(JSON.stringify(state.messages.all()).length).toBeLessThan(1000);
  });
});
