import { useEffect } from 'react';
import type { ConversationState } from '../../store/conversation';
import type { TaskRow } from '../../store/rows';
import { isOver, orchestrator } from '../../store/selectors';
import { store } from '../../store/store';
import { announce } from '../../ui/announcer';
import { roleName } from '../../ui/role';
import { shownOf, wordOf } from '../../ui/status';
import { textsOf } from './row';

/** What has been said of a conversation to those who do not look at it. */
interface Told {
  turn: number;
  over: Set<string>;
}

/** Says that replies and agents are done. What was over when the page was opened is no news. */
export function useAnnouncements(conversation: string): void {
  useEffect(() => {
    const state = store.conversation(conversation);
    let told: Told | undefined;
    return store.subscribe(() => {
      if (!state.conversation) return;
      if (told) for (const line of news(state, told)) announce(line);
      told ??= { turn: lastTurn(state)?.seq ?? 0, over: new Set(ended(state).map((t) => t.id)) };
    });
  }, [conversation]);
}

const ended = (state: ConversationState): TaskRow[] =>
  state.tasks.all().filter((task) => task.agent !== orchestrator && isOver(task));

const lastTurn = (state: ConversationState) =>
  state.turns.all().findLast((turn) => turn.agent === orchestrator && turn.status !== undefined);

/** What came since: one line for all agents that are done, and the first sentence of a reply. */
export function news(state: ConversationState, told: Told): string[] {
  const lines: string[] = [];
  // What the history before a snapshot brings is old.
  const since = Date.now() - 30_000;
  const fresh = ended(state).filter((task) => !told.over.has(task.id));
  for (const task of fresh) told.over.add(task.id);
  const now = fresh.filter((task) => Date.parse(task.finished_at ?? '') > since);
  if (now.length > 2) lines.push(`${now.length} agents finished`);
  else for (const task of now) lines.push(`${roleName(task.role ?? '')}: ${wordOf(shownOf(task))}`);
  const turn = lastTurn(state);
  if (turn && turn.seq > told.turn) {
    told.turn = turn.seq;
    if (Date.parse(turn.ended_at ?? '') > since) lines.push(lastWords(state));
  }
  return lines;
}

function lastWords(state: ConversationState): string {
  const reply = state.messages
    .all()
    .findLast((m) => m.agent === orchestrator && m.speaker === 'assistant');
  const text = reply ? textsOf(reply).join(' ') : '';
  const first = /^[\s\S]{0,200}?[.!?](?=\s|$)/.exec(text)?.[0] ?? text.slice(0, 200);
  return `Orchestrator: ${first.replaceAll(/[*`#_]/g, '').trim() || 'Done'}`;
}
