import { useEffect, useRef } from 'react';
import type { TaskStatus } from '../api/types';
import { useConversation } from '../store/hooks';
import type { TaskRow } from '../store/rows';
import { chatMessages, isOver, orchestrator } from '../store/selectors';
import { announce, announceOneOf } from '../ui/announcer';
import { roleName } from '../ui/role';

type Over = Extract<TaskStatus, 'completed' | 'failed' | 'timed_out' | 'cancelled'>;

const words: Record<Over, string> = {
  completed: 'finished',
  failed: 'failed',
  timed_out: 'timed out',
  cancelled: 'was stopped',
};

// One function each: the announcer counts lines by it.
const several: Record<Over, (count: number) => string> = {
  completed: (count) => `${count} agents finished`,
  failed: (count) => `${count} agents failed`,
  timed_out: (count) => `${count} agents timed out`,
  cancelled: (count) => `${count} agents were stopped`,
};

/** The tasks that ended since it was asked last. What was over when it was first asked is no news. */
export class Endings {
  private over: Set<string> | undefined;

  since(tasks: readonly TaskRow[]): TaskRow[] {
    const now = tasks.filter(isOver);
    const before = this.over;
    this.over = new Set(now.map((task) => task.id));
    return before ? now.filter((task) => !before.has(task.id)) : [];
  }
}

/** The first sentence of a reply, as far as it is worth hearing. */
export function firstSentence(text: string): string {
  const plain = text
    .replaceAll(/[`*_#>]+/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const sentence = /^.{1,200}?[.!?:](?=\s|$)/.exec(plain)?.[0] ?? plain;
  return sentence.length > 200 ? `${sentence.slice(0, 199)}…` : sentence;
}

/** Tells those who do not look at the screen that agents and replies are done. It shows nothing. */
export function Tell({ conversation }: { conversation: string }) {
  const known = useConversation(conversation, (state) => state.conversation !== undefined);
  const tasks = useConversation(conversation, (state) => state.tasks.all());
  const agents = useConversation(conversation, (state) => state.agents);
  const reply = useConversation(conversation, (state) => chatMessages(state).at(-1));
  const endings = useRef(new Endings());
  const latest = useRef(reply);
  latest.current = reply;
  useEffect(() => {
    if (!known) return;
    for (const task of endings.current.since(tasks)) {
      const status = task.status as Over;
      if (task.agent !== orchestrator) {
        const role = roleName(agents.get(task.agent)?.role ?? 'agent');
        announceOneOf(`${role} ${words[status]}`, several[status]);
        continue;
      }
      const said = latest.current;
      const text =
        said?.speaker === 'assistant'
          ? said.parts.find((part) => part.kind === 'text')?.text
          : undefined;
      announce(
        text ? `Reply finished: ${firstSentence(text)}` : `The orchestrator ${words[status]}`,
      );
    }
  }, [known, tasks, agents]);
  return null;
}
