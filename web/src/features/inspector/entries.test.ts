import { describe, expect, it } from 'vitest';
import type { Event, Part } from '../../api/types';
import { BlockStream } from '../../markdown/blocks';
import { ConversationState } from '../../store/conversation';
import { loadTranscriptMessage } from '../../store/loadcalls';
import { draftEntries, type Entry, entriesOf } from './entries';

const at = '2026-01-01T00:00:00Z';
const agent = 'main/1';

/** A sub-agent that was asked something and replied with some parts. */
function replied(...parts: Part[]): ConversationState {
  const state = new ConversationState('c1');
  const base = { conversation: 'c1', ts: at, agent_path: agent, task: agent };
  const asked = { depth: 1, role: 'coder', parent: 'main', instruction: 'Write it.' };
  const message = { id: 't1', seq: 5, agent, at, speaker: 'assistant', turn: 1, parts };
  const events = [
    { ...base, seq: 2, type: 'agent.spawned', data: asked },
    { ...base, seq: 5, type: 'message.completed', data: message },
  ];
  for (const event of events) state.apply(event as Event);
  return state;
}

function finished(state: ConversationState, ...calls: string[]): void {
  calls.forEach((call, index) => {
    const data = { call, status: 'completed', text: '', duration_ms: 3 };
    const seq = 10 + index;
    const event = { seq, type: 'tool.returned', ts: at, conversation: 'c1', data };
    state.apply({ ...event, agent_path: agent, task: agent } as Event);
  });
}

const use = (call: string, tool: string, args = '{}'): Part => ({
  kind: 'tool_use',
  call,
  tool,
  args,
});
const kinds = (entries: readonly Entry[]) => entries.map((entry) => entry.kind);

describe('entries of a transcript', () => {
  it('begin with the task, and do not say it twice', () => {
    const state = replied({ kind: 'text', text: 'One.\n\nTwo.' });
    const brief = { id: 'a', seq: 3, agent, at, speaker: 'user' } as const;
    loadTranscriptMessage(state, { ...brief, parts: [{ kind: 'text', text: 'Write it.' }] });
    expect(kinds(entriesOf(state, agent))).toEqual(['task', 'text', 'text']);
  });

  it('show what else the agent was told', () => {
    const state = replied({ kind: 'text', text: 'One.' });
    const told = { id: 'm2', seq: 7, agent, at, speaker: 'user' } as const;
    loadTranscriptMessage(state, { ...told, parts: [{ kind: 'text', text: 'Stop at ten.' }] });
    expect(entriesOf(state, agent).at(-1)).toMatchObject({ kind: 'told', text: 'Stop at ten.' });
  });

  it('show what was posted once, not again as it was handed over', () => {
    const state = new ConversationState('c1');
    const said = { at, speaker: 'user', parts: [{ kind: 'text', text: 'Go on.' }] } as const;
    const parts = [...said.parts];
    loadTranscriptMessage(state, { ...said, parts, id: 'x', seq: 3, number: 1, agent: '' });
    loadTranscriptMessage(state, { ...said, parts, id: 'm1', seq: 4, agent: 'main' });
    expect(kinds(entriesOf(state, 'main'))).toEqual(['told']);
  });

  it('fold reads in a row once they are done', () => {
    const state = replied(use('1.0', 'read_file'), use('1.1', 'list_dir'), use('1.2', 'read_file'));
    expect(kinds(entriesOf(state, agent))).toEqual(['task', 'tool', 'tool', 'tool']);
    finished(state, '1.0', '1.1', '1.2');
    expect(kinds(entriesOf(state, agent))).toEqual(['task', 'reads']);
  });

  it('never fold what failed, writes or runs something', () => {
    const state = replied(
      ...[use('1.0', 'read_file'), use('1.1', 'read_file'), use('1.2', 'shell')],
      ...[use('1.3', 'read_file'), use('1.4', 'read_file'), use('1.5', 'mcp__x__read')],
    );
    finished(state, '1.0', '1.1', '1.2', '1.3', '1.4', '1.5');
    expect(kinds(entriesOf(state, agent))).toEqual(['task', ...Array(6).fill('tool')]);
  });

  it('have the same keys while a text comes in and when it is there', () => {
    const text = 'One.\n\nTwo.\n\n- three\n';
    const parts = [{ kind: 'text', text, stretches: [] }];
    const draft = { message: `${agent}#t1`, agent, began: 1, parts };
    const coming = draftEntries(draft, (_, all) => new BlockStream().sync(all).all());
    const there = entriesOf(replied({ kind: 'text', text }), agent).slice(1);
    expect(coming.map((entry) => entry.key)).toEqual(there.map((entry) => entry.key));
  });
});
