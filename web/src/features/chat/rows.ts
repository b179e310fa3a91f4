// The chat as a flat list of small rows. A row is what is drawn and measured at once: a block of text rather than a
// message, a task rather than a group, so that a delta or a status costs the same however long the conversation is.

import { splitBlocks } from '../../markdown/blocks';
import { type ChatItem, chatItems, hasSubtasks, isBusy, subtasks } from '../../store/chat';
import type { ConversationState } from '../../store/conversation';
import type { MessageRow, TaskRow } from '../../store/rows';
import { cached } from '../../store/selectors';
import type { Disclosure } from './disclosure';
import { blockRow, type Memory, type Row, reused, textsOf, turnKey } from './row';
import { tailRows } from './tail';

/** Tasks below each other are drawn to this depth; what is deeper is a link. */
export const DEPTH = 3;

/** Groups with more tasks than this are folded. */
export const MANY = 20;

/** Groups up to this size show what each task is doing. */
const FEW = 5;

/** All rows of the chat. Those that did not change are the same objects as before. */
export function rowsOf(state: ConversationState, disclosure: Disclosure): readonly Row[] {
  const settled = settledRows(state, disclosure);
  const tail = tailRows(state, disclosure, settled.at(-1));
  return tail.length === 0 ? settled : [...settled, ...tail];
}

const settledRows = (state: ConversationState, disclosure: Disclosure): readonly Row[] =>
  cached(
    state,
    `rows ${isBusy(state)}`,
    [state.messages, state.turns, state.tasks, state.notes, disclosure],
    () => reused(before, state, build(state, disclosure)),
  );

const before: Memory = new WeakMap();

function build(state: ConversationState, disclosure: Disclosure): Row[] {
  const rows: Row[] = [];
  const items = chatItems(state);
  for (let at = 0; at < items.length; ) {
    const item = items[at] as ChatItem;
    if (item.kind === 'message' && item.message.speaker === 'user') {
      const { id, seq, message } = item;
      rows.push({ kind: 'posted', key: id, turn: id, seq, message });
      at++;
      continue;
    }
    let end = at;
    while (end < items.length && !isPosted(items[end] as ChatItem)) end++;
    addTurn(state, disclosure, items.slice(at, end), rows);
    at = end;
  }
  return rows;
}

const isPosted = (item: ChatItem): boolean =>
  item.kind === 'message' && item.message.speaker === 'user';

/** What the orchestrator did until a person spoke again. */
function addTurn(
  state: ConversationState,
  disclosure: Disclosure,
  items: readonly ChatItem[],
  rows: Row[],
): void {
  const first = items[0] as ChatItem;
  const turn = first.id;
  const opening = items.find((item) => item.kind === 'message');
  const folded = disclosure.isOpen(turnKey(turn), true) ? '' : summary(items);
  rows.push({
    kind: 'heading',
    key: `h ${turn}`,
    turn,
    seq: first.seq,
    at: opening?.message.at ?? timeOf(first),
    number: opening?.message.turn,
    folded,
  });
  if (folded) return;
  for (const item of items) addItem(state, disclosure, item, turn, rows);
}

function timeOf(item: ChatItem): string | undefined {
  if (item.kind === 'group') return item.tasks[0]?.assigned_at;
  if (item.kind === 'note') return item.note.at;
  return item.kind === 'end' ? item.turn.ended_at : item.message.at;
}

/** What is in a turn that is folded, in a line. */
function summary(items: readonly ChatItem[]): string {
  const agents = items.reduce((sum, i) => sum + (i.kind === 'group' ? i.tasks.length : 0), 0);
  const words = items.flatMap((i) => (i.kind === 'message' ? textsOf(i.message) : []));
  const line = words.at(-1)?.trim().split('\n')[0] ?? '';
  const count = agents === 0 ? '' : `${agents} ${agents === 1 ? 'agent' : 'agents'}`;
  return [count, line].filter(Boolean).join(' · ') || 'Nothing was said';
}

function addItem(
  state: ConversationState,
  disclosure: Disclosure,
  item: ChatItem,
  turn: string,
  rows: Row[],
): void {
  switch (item.kind) {
    case 'message':
      return void rows.push(...blockRows(item.message, turn));
    case 'note':
      return void rows.push({ kind: 'note', key: item.id, turn, seq: item.seq, note: item.note });
    case 'end':
      return void rows.push({ kind: 'end', key: item.id, turn, seq: item.seq, end: item.turn });
    case 'group':
      return addGroup(state, disclosure, item, turn, rows);
  }
}

const split = new WeakMap<MessageRow, readonly (readonly string[])[]>();

/** One row per block of each text of a message. Its keys are those that its draft had. */
function blockRows(message: MessageRow, turn: string): Row[] {
  let parts = split.get(message);
  if (!parts) {
    parts = message.parts.map((p) => (p.kind === 'text' && p.text ? splitBlocks(p.text) : []));
    split.set(message, parts);
  }
  return parts.flatMap((blocks, part) =>
    blocks.map((raw, index) => blockRow(message.id, part, index, raw, turn, message.seq)),
  );
}

type Group = Extract<ChatItem, { kind: 'group' }>;

function addGroup(
  state: ConversationState,
  disclosure: Disclosure,
  group: Group,
  turn: string,
  rows: Row[],
): void {
  const { id, seq, tasks } = group;
  const open = disclosure.isOpen(id, true);
  const start = rows.length;
  if (tasks.length > 1) {
    rows.push({ kind: 'group', key: id, turn, seq, call: id, count: tasks.length, open });
  }
  if (open || tasks.length === 1) {
    const all = tasks.length <= MANY || disclosure.isOpen(`${id} all`, false);
    const shown = all ? tasks : tasks.filter((t, i) => i < MANY || t.status === 'waiting');
    const few = tasks.length <= FEW;
    for (const task of shown) addTask({ state, disclosure, turn, rows, few }, task, 0);
    const hidden = tasks.length - shown.length;
    if (hidden > 0 || (all && tasks.length > MANY)) {
      rows.push({ kind: 'fold', key: `${id} fold`, turn, seq, call: id, hidden, edge: 'middle' });
    }
  }
  markEdges(rows, start);
}

interface Adding {
  state: ConversationState;
  disclosure: Disclosure;
  turn: string;
  rows: Row[];
  few: boolean;
}

function addTask(to: Adding, task: TaskRow, depth: number): void {
  const { state, disclosure, turn, rows } = to;
  const open = disclosure.isOpen(`task ${task.id}`, opensByItself(task, to.few));
  const place = { turn, seq: task.seq, depth, edge: 'middle' as const };
  rows.push({ kind: 'task', key: `task ${task.id}`, ...place, task: task.id, open });
  if (!open || !hasSubtasks(state, task)) return;
  if (depth + 1 >= DEPTH) {
    rows.push({ kind: 'deeper', key: `deeper ${task.id}`, ...place, task: task.id });
    return;
  }
  for (const child of subtasks(state, task)) addTask(to, child, depth + 1);
}

/** What is live or broken is open; of many, only what needs a person or broke. */
function opensByItself(task: TaskRow, few: boolean): boolean {
  if (task.status === 'failed' || task.status === 'timed_out' || task.status === 'waiting') {
    return true;
  }
  return few && task.status === 'running';
}

/** Rounds the corners of a card whose rows are drawn one by one. */
function markEdges(rows: Row[], start: number): void {
  const last = rows.length - 1;
  for (let at = start; at <= last; at++) {
    const row = rows[at] as Row;
    if (!('edge' in row)) continue;
    const top = at === start;
    row.edge = top ? (at === last ? 'only' : 'first') : at === last ? 'last' : 'middle';
  }
}
