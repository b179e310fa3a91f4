import type { Event } from '../api/types';
import { toolCallId } from './rows';
import type { ConversationTables } from './state';
import { final } from './table';

type AskEvent = Extract<
  Event,
  { type: `question.${string}` | Exclude<Event['type'] & `approval.${string}`, 'approval.granted'> }
>;

export const isAsk = (event: Event): event is AskEvent =>
  event.type.startsWith('question.') ||
  (event.type.startsWith('approval.') && event.type !== 'approval.granted');

/** The tables after an event about something that a person is asked. */
export function applyAsk(state: ConversationTables, event: AskEvent): void {
  const { seq, ts } = event;
  switch (event.type) {
    case 'question.asked': {
      const { id, ...fields } = event.data;
      return state.questions.bear(id, fields, seq);
    }
    case 'question.relayed':
      return state.questions.put(event.data.question, { status: 'relayed' }, seq);
    case 'question.answered': {
      const { question, by, text, number } = event.data;
      const end = { status: 'closed' as const, by, answer: text, answered_at: ts, number };
      return state.questions.put(question, end, final(seq));
    }
    case 'approval.requested': {
      const { id, ...fields } = event.data;
      state.toolCalls.put(
        toolCallId(fields.agent, fields.call),
        { status: 'waiting_approval' },
        seq,
      );
      return state.approvals.bear(id, fields, seq);
    }
    case 'approval.decided': {
      const { approval, allow, scope, by, note, args } = event.data;
      const decision = { status: 'decided' as const, allow, scope, by, note, decided_at: ts };
      state.approvals.put(approval, decision, seq);
      if (args !== undefined) state.approvals.put(approval, { edited: true }, seq);
      return;
    }
    case 'approval.resolved':
    case 'approval.expired': {
      const { approval, status, scope, by } = event.data;
      state.approvals.put(approval, { status, decided_at: ts }, final(seq));
      if (scope !== undefined) state.approvals.put(approval, { scope }, final(seq));
      if (by !== undefined) state.approvals.put(approval, { by }, final(seq));
    }
  }
}
