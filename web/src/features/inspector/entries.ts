import type { Part } from '../../api/types';
import { splitBlocks } from '../../markdown/blocks';
import type { ConversationState } from '../../store/conversation';
import type { Draft } from '../../store/drafts';
import type { MessageRow, NoteRow, TaskRow, ToolCallRow } from '../../store/rows';
import { toolCallId } from '../../store/rows';
import {
  isOver,
  notesOf,
  orchestrator,
  tasksOf,
  tasksOfCall,
  transcript,
} from '../../store/selectors';
import { kindOf } from './tools/kinds';

/** One row of an agent's transcript. Rows are blocks, not messages: a long message is many rows, most of them not drawn. */
export type Entry =
  | { kind: 'task'; key: string; task: TaskRow; again: boolean }
  | { kind: 'told'; key: string; text: string; by: string }
  | { kind: 'text'; key: string; raw: string; first: boolean; open: boolean }
  | { kind: 'thinking'; key: string; text: string; open: boolean }
  | { kind: 'image'; key: string; hash: string }
  | { kind: 'tool'; key: string; call: ToolCallRow }
  | { kind: 'writing'; key: string; tool: string }
  | { kind: 'reads'; key: string; calls: readonly ToolCallRow[] }
  | { kind: 'agents'; key: string; call: ToolCallRow; tasks: readonly TaskRow[] }
  | { kind: 'note'; key: string; note: NoteRow }
  | { kind: 'end'; key: string; task: TaskRow };

/** From this many on, reads in a row become one line. */
export const FOLD = 3;

/** What is shown of an agent, in order. */
export function entriesOf(state: ConversationState, agent: string): Entry[] {
  const tasks = tasksOf(state, agent);
  const timed: { seq: number; entries: Entry[] }[] = [];
  tasks.forEach((task, index) => {
    const entries: Entry[] = [];
    const before = tasks[index - 1];
    if (before && isOver(before)) entries.push(endOf(before));
    entries.push({ kind: 'task', key: `task ${task.id}`, task, again: index > 0 });
    timed.push({ seq: task.seq, entries });
  });
  for (const message of transcript(state, agent)) {
    timed.push({ seq: message.seq, entries: ofMessage(state, message, tasks) });
  }
  for (const note of notesOf(state, agent)) {
    timed.push({ seq: note.seq, entries: [{ kind: 'note', key: `note ${note.id}`, note }] });
  }
  timed.sort((a, b) => a.seq - b.seq);
  const entries = folded(timed.flatMap((each) => each.entries));
  const last = tasks.at(-1);
  if (last && isOver(last) && last.agent !== orchestrator) entries.push(endOf(last));
  return entries;
}

const endOf = (task: TaskRow): Entry => ({ kind: 'end', key: `end ${task.id}`, task });

function ofMessage(
  state: ConversationState,
  message: MessageRow,
  tasks: readonly TaskRow[],
): Entry[] {
  if (message.speaker === 'assistant') return ofReply(state, message);
  const text = message.parts
    .filter((part) => part.kind === 'text')
    .map((part) => part.text ?? '')
    .join('\n\n')
    .trim();
  const told: Entry[] = message.parts
    .filter((part) => part.kind === 'image' && part.image && !part.call)
    .map((part, index) => ({
      kind: 'image',
      key: `${message.id} image ${index}`,
      hash: part.image ?? '',
    }));
  // What it was asked stands in its task already.
  if (!text || tasks.some((task) => asks(task, text)) || isCopy(state, message, text)) return told;
  return [{ kind: 'told', key: message.id, text, by: message.by ?? '' }, ...told];
}

/** Whether a message hands the orchestrator what people posted, which stands there as they posted it. */
function isCopy(state: ConversationState, message: MessageRow, text: string): boolean {
  if (message.number !== undefined || message.agent !== orchestrator) return false;
  return transcript(state, orchestrator).some(
    (posted) =>
      posted.number !== undefined && posted.parts.some((part) => part.text?.trim() === text),
  );
}

/** Whether a text is what a task asks. Until all of that is known, its title says how it begins. */
function asks(task: TaskRow, text: string): boolean {
  if (task.instruction !== undefined) return task.instruction.trim() === text;
  const begin = task.title?.replace(/…$/, '') ?? '';
  return begin !== '' && text.replaceAll(/\s+/g, ' ').startsWith(begin);
}

const blocks = new WeakMap<MessageRow, Map<number, string[]>>();

function blocksOf(message: MessageRow, part: number): string[] {
  let parts = blocks.get(message);
  if (!parts) {
    parts = new Map();
    blocks.set(message, parts);
  }
  let found = parts.get(part);
  if (!found) {
    found = splitBlocks(message.parts[part]?.text ?? '');
    parts.set(part, found);
  }
  return found;
}

function ofReply(state: ConversationState, message: MessageRow): Entry[] {
  return message.parts.flatMap((part, index) => ofPart(state, message, part, index));
}

function ofPart(state: ConversationState, message: MessageRow, part: Part, index: number): Entry[] {
  const key = `${message.id} ${index}`;
  switch (part.kind) {
    case 'text':
      return blocksOf(message, index).map((raw, at) => ({
        kind: 'text',
        key: `${key} ${at}`,
        raw,
        first: at === 0,
        open: false,
      }));
    case 'thinking':
      return part.text ? [{ kind: 'thinking', key, text: part.text, open: false }] : [];
    case 'tool_use':
      return ofCall(state, message, part.call ?? '');
    case 'image':
      return part.image ? [{ kind: 'image', key, hash: part.image }] : [];
    case 'tool_result':
      return [];
  }
}

function ofCall(state: ConversationState, message: MessageRow, name: string): Entry[] {
  const call = state.toolCalls.get(toolCallId(message.agent, name));
  if (!call) return [];
  const key = `call ${call.id}`;
  const tasks = tasksOfCall(state, call.agent, call.call);
  if (tasks.length > 0) return [{ kind: 'agents', key, call, tasks }];
  return [{ kind: 'tool', key, call }];
}

const foldable = (entry: Entry): entry is Extract<Entry, { kind: 'tool' }> =>
  entry.kind === 'tool' && entry.call.status === 'completed' && kindOf(entry.call.tool) === 'read';

/** The same with reads in a row as one line. The line's key is that of its first call, so that it stays open while it grows. */
export function folded(entries: readonly Entry[]): Entry[] {
  const out: Entry[] = [];
  let run: Extract<Entry, { kind: 'tool' }>[] = [];
  const flush = () => {
    const [first] = run;
    if (first && run.length >= FOLD) {
      out.push({ kind: 'reads', key: `reads ${first.key}`, calls: run.map((r) => r.call) });
    } else out.push(...run);
    run = [];
  };
  for (const entry of entries) {
    if (foldable(entry)) run.push(entry);
    else {
      flush();
      out.push(entry);
    }
  }
  flush();
  return out;
}

/** Rows of a text on its way. The keys are those of the message to be, so that nothing jumps when it is there. */
export function draftEntries(
  draft: Draft,
  split: (key: string, text: string) => string[],
): Entry[] {
  return draft.parts.flatMap((part, index): Entry[] => {
    if (!part) return [];
    const key = `${draft.message} ${index}`;
    const last = index === draft.parts.length - 1;
    if (part.kind === 'thinking') {
      return part.text ? [{ kind: 'thinking', key, text: part.text, open: last }] : [];
    }
    if (part.kind === 'tool_use') {
      return [{ kind: 'writing', key, tool: part.tool ?? '' }];
    }
    const raws = split(key, part.text);
    return raws.map((raw, at) => ({
      kind: 'text',
      key: `${key} ${at}`,
      raw,
      first: at === 0,
      open: last && at === raws.length - 1,
    }));
  });
}
