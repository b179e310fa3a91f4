import type { Message, ModelCall, Schemas, ToolCall } from '../api/types';
import type { ConversationState } from './conversation';
import { loadMessage } from './load';
import { modelCallId, toolCallId } from './rows';
import { final } from './table';

/** How much of a tool's result is kept with the message that brought it to the model. */
const PREVIEW = 280;

/**
 * A message of an agent's transcript. Results of tools are cut: whole outputs are read when somebody opens them. What it
 * asks of tools is known from it, but not what became of that.
 */
export function loadTranscriptMessage(state: ConversationState, message: Message): void {
  const parts = message.parts.map((part) =>
    part.kind === 'tool_result' ? { ...part, text: (part.text ?? '').slice(0, PREVIEW) } : part,
  );
  loadMessage(state, { ...message, parts }, message.seq);
  for (const part of parts) {
    if (part.kind !== 'tool_use' || !part.call) continue;
    const id = toolCallId(message.agent, part.call);
    const row = { seq: message.seq, call: part.call, agent: message.agent, tool: part.tool ?? '' };
    state.toolCalls.bear(id, { ...row, turn: message.turn ?? 0, args: part.args }, message.seq);
    state.toolCalls.put(id, { status: 'pending' }, 0);
  }
}

const open: ReadonlySet<ToolCall['status']> = new Set(['pending', 'waiting_approval', 'running']);

/** A tool call of a listing, as of seq. */
export function loadToolCall(state: ConversationState, listed: ToolCall, seq: number): void {
  const { call, agent, status, started_at, finished_at, duration_ms, attempt, ...fields } = listed;
  const id = toolCallId(agent, call);
  state.toolCalls.bear(id, { ...fields, call, agent }, listed.seq);
  if (started_at) state.toolCalls.first(id, { started_at }, seq);
  if (open.has(status)) return state.toolCalls.put(id, { status, attempt }, seq);
  state.toolCalls.put(id, { status, attempt, finished_at }, final(0));
  if (duration_ms !== undefined) state.toolCalls.put(id, { duration_ms }, final(0));
}

/** A model call of a listing. What it used is in the snapshot already, so it has no end that would count. */
export function loadModelCall(state: ConversationState, listed: ModelCall): void {
  const id = modelCallId(listed.task, listed.call);
  const { seq, status, usage, error_kind, finished_at, ...begin } = listed;
  state.modelCalls.first(id, { seq }, seq);
  state.modelCalls.bear(id, { ...begin, ended: 0 }, 0);
  const over = status !== 'running' && status !== 'pending' && status !== 'queued';
  state.modelCalls.put(id, { status, usage, error_kind, finished_at }, over ? final(0) : 0);
}

/** What snapshots leave out of a task: what was asked in full, and what came of it. Events that are there say the same. */
export function loadWholeTask(state: ConversationState, whole: Schemas['TaskView']): void {
  const { id, instruction, success_criteria, files, result, receipt, summary, message } = whole;
  const asked = { instruction, success_criteria, files };
  const came = { result, receipt, summary, message };
  for (const fields of [asked, came]) {
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined || value === null) continue;
      state.tasks.put(id, { [name]: value }, fields === came ? final(whole.seq) : whole.seq);
    }
  }
}
