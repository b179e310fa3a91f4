// What the chat shows, in the order in which it is read: what was said, the groups of tasks, notes, and ends of turns.

import type { ConversationState } from './conversation';
import type { MessageRow, NoteRow, TaskRow, TurnRow } from './rows';
import {
  cached,
  chatMessages,
  isOver,
  messageState,
  orchestrator,
  tasksOf,
  transcript,
} from './selectors';

export type ChatItem =
  | { kind: 'message'; id: string; seq: number; message: MessageRow }
  | { kind: 'group'; id: string; seq: number; tasks: readonly TaskRow[] }
  | { kind: 'note'; id: string; seq: number; note: NoteRow }
  | { kind: 'end'; id: string; seq: number; turn: TurnRow };

/** Tasks in groups, each in the order of the table. */
function grouped(
  tasks: readonly TaskRow[],
  by: (task: TaskRow) => string,
): ReadonlyMap<string, readonly TaskRow[]> {
  const groups = new Map<string, TaskRow[]>();
  for (const task of tasks) {
    const group = groups.get(by(task));
    if (group) group.push(task);
    else groups.set(by(task), [task]);
  }
  return groups;
}

/** The tasks that agents asked for, by the call they did it with. */
const byCall = (state: ConversationState): ReadonlyMap<string, readonly TaskRow[]> =>
  cached(state, 'tasks by call', [state.tasks], () => {
    const asked = state.tasks.all().filter((task) => task.parent !== undefined);
    const inOrder = [...asked].sort((a, b) => (a.item ?? 0) - (b.item ?? 0));
    return grouped(inOrder, (task) => `${task.parent}#${task.parent_call ?? ''}`);
  });

const byParent = (state: ConversationState): ReadonlyMap<string, readonly TaskRow[]> =>
  cached(state, 'tasks by parent', [state.tasks], () =>
    grouped(state.tasks.all(), (task) => task.parent ?? ''),
  );

/** The tasks that one task asked for. An agent that was called again has others then. */
export function subtasks(state: ConversationState, task: TaskRow): readonly TaskRow[] {
  const all = byParent(state).get(task.agent);
  if (!all) return [];
  const next = tasksOf(state, task.agent).find((other) => other.seq > task.seq)?.seq;
  return all.filter((child) => child.seq > task.seq && (next === undefined || child.seq < next));
}

/** The same, where it is known that there are none or that the agent was called once. */
export const hasSubtasks = (state: ConversationState, task: TaskRow): boolean =>
  byParent(state).has(task.agent);

/** When the orchestrator read each posted message, by the message's number. */
export const readings = (state: ConversationState): ReadonlyMap<number, number> =>
  cached(state, 'readings', [state.messages, state.turns], () => {
    const found = new Map<number, number>();
    for (const { reads, seq } of transcript(state, orchestrator)) {
      for (const number of reads ?? []) if (!found.has(number)) found.set(number, seq);
    }
    return found;
  });

/** Whether the orchestrator is at work. */
export function isBusy(state: ConversationState): boolean {
  const main = state.tasks.get(orchestrator);
  return main !== undefined && !isOver(main);
}

/** Notes that say what became of an answer. What is taken as a request is read like any other. */
const answered = new Set(['forwarded', 'already_answered', 'question_closed']);

/** What was posted, is no answer to a question, and has not been read yet. */
const unread = (state: ConversationState): readonly MessageRow[] =>
  cached(state, 'unread', [state.messages, state.notes, state.turns], () => {
    const answers = state.notes.all().filter((note) => answered.has(note.note));
    const told = new Set(answers.map((note) => note.number));
    // They are read in the order of their numbers.
    const last = [...state.read].reduce((most, number) => Math.max(most, number), 0);
    return chatMessages(state).filter(
      (m) =>
        m.speaker === 'user' &&
        (m.number ?? 0) > last &&
        m.in_reply_to === undefined &&
        !told.has(m.number) &&
        messageState(state, m) !== 'read',
    );
  });

const none: readonly MessageRow[] = [];

/** What waits to be read at the orchestrator's next step. While it is idle there is no such thing: it reads at once. */
export const queued = (state: ConversationState): readonly MessageRow[] =>
  isBusy(state) ? unread(state) : none;

/** Whether the first message is there, so that nothing came before. */
export const isWhole = (state: ConversationState): boolean => {
  const first = chatMessages(state)[0];
  return first === undefined || first.number === 1;
};

/** What the chat shows, oldest first. What lies before the oldest message that is there is left out. */
export const chatItems = (state: ConversationState): readonly ChatItem[] =>
  cached(
    state,
    `chat items ${isBusy(state)}`,
    [state.messages, state.turns, state.tasks, state.notes],
    () => {
      const waiting = new Set(queued(state));
      const said = chatMessages(state).filter((message) => !waiting.has(message));
      const oldest = isWhole(state) ? 0 : (said[0]?.seq ?? 0);
      const items: ChatItem[] = [...said.map((m) => placed(state, m)), ...besides(state)];
      return items.filter((item) => item.seq >= oldest).sort((a, b) => a.seq - b.seq);
    },
  );

/** A posted message stands where it was read: what the orchestrator said before that is no answer to it. */
function placed(state: ConversationState, message: MessageRow): ChatItem {
  const read = message.number === undefined ? undefined : readings(state).get(message.number);
  const late = read === undefined && unread(state).includes(message);
  const seq = late ? Number.MAX_SAFE_INTEGER : Math.max(message.seq, read ?? 0);
  return { kind: 'message', id: message.id, seq, message };
}

function besides(state: ConversationState): ChatItem[] {
  const groups = [...byCall(state)]
    .filter(([, tasks]) => tasks[0]?.parent === orchestrator)
    .map(([id, tasks]): ChatItem => {
      const seq = Math.min(...tasks.map((task) => task.seq));
      return { kind: 'group', id: `g ${id}`, seq, tasks };
    });
  const notes = state.notes
    .all()
    .map((note): ChatItem => ({ kind: 'note', id: `n ${note.id}`, seq: note.seq, note }));
  const ends = state.turns
    .all()
    .filter((t) => t.agent === orchestrator && t.status !== undefined && t.status !== 'completed')
    .map((turn): ChatItem => ({ kind: 'end', id: `e ${turn.id}`, seq: turn.seq, turn }));
  return [...groups, ...notes, ...ends];
}
