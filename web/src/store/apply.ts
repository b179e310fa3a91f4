import type { Event } from '../api/types';
import { applyAsk, isAsk } from './applyask';
import { applyCall, isCall } from './applycall';
import { applyTask, isTask } from './applytask';
import { messageId, toolCallId, turnId } from './rows';
import type { ConversationTables } from './state';

/** What an event says, written into the tables. Types that are not known are passed over: the server may be newer. */
export function apply(state: ConversationTables, event: Event): void {
  const { seq } = event;
  state.head.put(state.id, { updated_at: event.ts, seq }, seq);
  if (isTask(event)) return applyTask(state, event);
  if (isCall(event)) return applyCall(state, event);
  if (isAsk(event)) return applyAsk(state, event);
  switch (event.type) {
    case 'conversation.created': {
      const { by, title, workspace, visibility } = event.data;
      const fields = {
        by,
        workspace,
        visibility,
        opened_at: event.ts,
        title,
        archived: false,
        number: 0,
      };
      return state.head.bear(state.id, fields, seq);
    }
    case 'conversation.renamed':
      return state.head.put(state.id, { title: event.data.title }, seq);
    case 'conversation.shared':
      return state.head.put(state.id, { visibility: 'tenant' }, seq);
    case 'conversation.archived':
      return state.head.put(state.id, { archived: true }, seq);
    case 'message.received':
    case 'message.completed':
      return applyMessage(state, event);
    case 'message.delivered':
      return state.messages.put(messageId('', event.data.message), { state: 'delivered' }, seq);
    case 'message.voided': {
      const agent = event.agent_path ?? '';
      const id = turnId(agent, event.data.turn);
      state.drafts.endBefore(agent, event.ts, seq);
      // Its place is that of its end, which may come later or have come before.
      return state.turns.bear(id, { agent, turn: event.data.turn, voided: seq }, seq);
    }
    case 'note.added':
      return state.notes.bear(String(seq), { ...event.data, seq, at: event.ts, ...of(event) }, seq);
    case 'cancel.requested':
      return state.stops.bear(String(seq), { ...event.data, seq, at: event.ts }, seq);
    case 'approval.granted':
      return state.grants.bear(String(seq), { ...event.data, seq }, seq);
    case 'turn.completed':
    case 'turn.failed':
    case 'turn.cancelled': {
      const agent = event.agent_path ?? '';
      const fields = { ...event.data, agent, ended_at: event.ts, seq };
      state.drafts.endBefore(agent, event.ts, seq);
      return state.turns.bear(turnId(agent, event.data.turn), fields, seq);
    }
  }
}

/** Which agent and task an event is about. */
export function of(event: Event): { agent?: string; task?: string } {
  return {
    ...(event.agent_path === undefined ? {} : { agent: event.agent_path }),
    ...(event.task === undefined ? {} : { task: event.task }),
  };
}

type Said = Extract<Event, { type: 'message.received' | 'message.completed' }>;

function applyMessage(state: ConversationTables, event: Said): void {
  const { seq, data } = event;
  const { id: name, state: _, ...fields } = data;
  const id = messageId(data.agent, name);
  state.messages.bear(id, fields, seq);
  if (event.type === 'message.received') {
    state.messages.put(id, { state: 'received' }, seq);
    if (data.number !== undefined) state.head.put(state.id, { number: data.number }, seq);
    return;
  }
  for (const number of data.reads ?? []) state.read.add(number);
  state.drafts.end(id);
  for (const part of data.parts) {
    if (part.kind !== 'tool_use' || !part.call) continue;
    const row = {
      seq,
      call: part.call,
      agent: data.agent,
      task: event.task ?? '',
      tool: part.tool ?? '',
      turn: data.turn ?? 0,
      args: part.args,
    };
    state.toolCalls.bear(toolCallId(data.agent, part.call), { ...row, status: 'pending' }, seq);
  }
}
