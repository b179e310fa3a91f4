import {
  Ban,
  Circle,
  CircleCheck,
  CircleDashed,
  Hand,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
  OctagonX,
  TimerOff,
} from 'lucide-react';
import type { TaskStatus } from '../api/types';
import { cx } from './classes';
import { plural } from './format';
import type { Tone } from './small';

/** What a waiting task waits for, as the server writes it. Both are a person. */
export type WaitingReason = 'user_input' | 'approval';

/** A task's status as people see it. */
export type Shown =
  | Exclude<TaskStatus, 'waiting' | 'pending'>
  | `waiting_${WaitingReason}`
  | 'waiting_agents'
  | 'stopping';

interface Look {
  icon: LucideIcon;
  tone: Tone;
  word: string;
  /** Whether it keeps a pill. What is over and well goes quiet. */
  loud: boolean;
}

// The compiler sees to it that every status of the wire is here.
const looks: Record<Shown, Look> = {
  queued: { icon: CircleDashed, tone: 'quiet', word: 'Queued', loud: false },
  running: { icon: LoaderCircle, tone: 'running', word: 'Running', loud: true },
  waiting_approval: { icon: Hand, tone: 'you', word: 'Needs approval', loud: true },
  waiting_user_input: {
    icon: MessageCircleQuestion,
    tone: 'you',
    word: 'Has a question',
    loud: true,
  },
  waiting_agents: { icon: Circle, tone: 'quiet', word: 'Waiting for agents', loud: false },
  completed: { icon: CircleCheck, tone: 'done', word: 'Done', loud: false },
  failed: { icon: OctagonX, tone: 'failed', word: 'Failed', loud: true },
  timed_out: { icon: TimerOff, tone: 'limit', word: 'Timed out', loud: true },
  cancelled: { icon: Ban, tone: 'quiet', word: 'Cancelled', loud: false },
  stopping: { icon: Ban, tone: 'quiet', word: 'Stopping…', loud: false },
};

/** What to show for a task. `agents` is how many sub-agents it waits for, `stopping` whether somebody asked to stop it. */
export function shownOf(
  task: { status: TaskStatus; waiting_reason?: string | undefined },
  around: { agents?: number; stopping?: boolean } = {},
): Shown {
  if (around.stopping) return 'stopping';
  switch (task.status) {
    case 'waiting':
      return task.waiting_reason === 'approval' ? 'waiting_approval' : 'waiting_user_input';
    case 'pending':
      return 'queued';
    case 'running':
      return (around.agents ?? 0) > 0 ? 'waiting_agents' : 'running';
    case 'queued':
    case 'completed':
    case 'failed':
    case 'cancelled':
    case 'timed_out':
      return task.status;
  }
}

export const toneOf = (shown: Shown): Tone => looks[shown].tone;

export function wordOf(shown: Shown, agents = 0): string {
  return shown === 'waiting_agents' && agents > 0
    ? `Waiting for ${plural(agents, 'agent')}`
    : looks[shown].word;
}

/** The icon alone, in its colour. Its user says the word elsewhere. */
export function StatusIcon({
  shown,
  className = 'size-3.5',
}: {
  shown: Shown;
  className?: string;
}) {
  const Icon = looks[shown].icon;
  return (
    <span data-s={looks[shown].tone} className="st st-fg inline-flex shrink-0">
      <Icon
        aria-hidden="true"
        className={cx(className, shown === 'running' && 'spin')}
        strokeWidth={2.1}
      />
    </span>
  );
}

/** Icon and word, in a pill while it matters. */
export function StatusBadge({ shown, agents = 0 }: { shown: Shown; agents?: number }) {
  const { tone, loud } = looks[shown];
  return (
    <span
      data-s={tone}
      className={cx(
        'st st-fg inline-flex h-[22px] shrink-0 items-center gap-1.5 whitespace-nowrap rounded-full font-medium text-xs',
        loud ? 'st-bg st-line border px-2' : 'px-1',
      )}
    >
      <StatusIcon shown={shown} />
      {wordOf(shown, agents)}
    </span>
  );
}
