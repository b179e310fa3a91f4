// What the dock asks of a conversation.

import type { Message } from '../api/types';
import type { ConversationState } from './conversation';
import type { TaskRow } from './rows';
import { type Ask, orchestrator, transcript } from './selectors';

/** An ask by its id, whether it still waits or not. Its rows are compared, so it may be made anew. */
export function askById(state: ConversationState, id: string): Ask | undefined {
  const approval = state.approvals.get(id);
  if (approval) return { kind: 'approval', id, at: approval.at, approval };
  const question = state.questions.get(id);
  return question && { kind: 'question', id, at: question.at, question };
}

/** The roles from the orchestrator down to an agent, joined by line ends so that they compare as one value. */
export function rolePath(state: ConversationState, agent: string): string {
  const roles: string[] = [];
  let at: string | undefined = agent;
  while (at && roles.length < 16) {
    const row = state.agents.get(at);
    if (!row) break;
    roles.unshift(row.role);
    at = row.parent;
  }
  return roles.join('\n') || orchestrator;
}

/** What an agent said in the message in which it made a call. Nothing means that the message is not here. */
export function saidWithCall(
  state: ConversationState,
  agent: string,
  call: string,
): string | undefined {
  return saidIn(transcript(state, agent), call);
}

/** The same, from messages. */
export function saidIn(messages: readonly Message[], call: string): string | undefined {
  const message = messages.findLast(
    (m) =>
      m.speaker === 'assistant' &&
      m.parts.some((part) => part.kind === 'tool_use' && part.call === call),
  );
  const said = message?.parts.filter((part) => part.kind === 'text').map((part) => part.text ?? '');
  return said?.join('\n').trim();
}

export const taskById = (state: ConversationState, id: string): TaskRow | undefined =>
  state.tasks.get(id);

/** Who posted the message with a number. */
export const personOfMessage = (
  state: ConversationState,
  number: number | undefined,
): string | undefined =>
  number === undefined ? undefined : state.messages.all().find((m) => m.number === number)?.by;
