import type { Event, ToolStatus } from '../api/types';
import { modelCallId, toolCallId } from './rows';
import type { ConversationTables } from './state';
import { final } from './table';
import { noUsage } from './usage';

type CallEvent = Extract<Event, { type: `attempt.${string}` | `tool.${string}` }>;

export const isCall = (event: Event): event is CallEvent =>
  event.type.startsWith('attempt.') || event.type.startsWith('tool.');

/** How much of a result the store keeps. The rest is read when somebody opens it. */
const PREVIEW = 280;

/** The tables after an event about a call of a model or a tool. */
export function applyCall(state: ConversationTables, event: CallEvent): void {
  const { seq, ts, task = '', agent_path: agent = '' } = event;
  switch (event.type) {
    case 'attempt.started': {
      const id = modelCallId(task, event.data.call);
      const fields = { ...event.data, agent, task, started_at: ts, ended: 0 };
      state.modelCalls.first(id, { seq }, seq);
      return state.modelCalls.bear(id, { ...fields, status: 'running', usage: noUsage }, seq);
    }
    case 'attempt.completed':
    case 'attempt.failed': {
      const { call, model, ...end } = event.data;
      const id = modelCallId(task, call);
      // Its beginning may lie before a snapshot, but what it used counts.
      state.modelCalls.first(id, { seq }, seq);
      state.modelCalls.bear(id, { call, agent, task, type: '' }, 0);
      state.modelCalls.put(id, { ...end, finished_at: ts, ended: seq }, final(seq));
      if (model) state.modelCalls.put(id, { model }, final(seq));
      return;
    }
    case 'tool.started': {
      const { call, attempt, effect_class } = event.data;
      const id = toolCallId(agent, call);
      state.toolCalls.first(id, { started_at: ts }, seq);
      return state.toolCalls.put(id, { attempt, effect_class, status: 'running' }, seq);
    }
    case 'tool.returned':
    case 'tool.denied': {
      const { call, status, text, reason, duration_ms } = event.data;
      const preview = text?.slice(0, PREVIEW);
      const fields = { preview, reason, duration_ms, finished_at: ts };
      const ended = { ...fields, status: status as ToolStatus };
      return state.toolCalls.put(toolCallId(agent, call), ended, final(seq));
    }
  }
}
