import type { ApprovalRow, QuestionRow, TaskRow } from '../../store/rows';
import { clockTime } from '../../ui/format';

/** What became of an ask, in words. Nothing while it still waits. */
export interface Outcome {
  text: string;
  /** What somebody said with it. */
  quote?: string | undefined;
  tone: 'done' | 'failed' | 'quiet';
}

const at = (when: string | undefined): string => (when ? `, ${clockTime(when)}` : '');
const who = (by: string | undefined, me: string | undefined): string =>
  by === undefined || by === '' ? 'somebody' : by === me ? 'you' : by;

const reaches: Record<string, string> = {
  task: ' for this task',
  chat: ' for this conversation',
  conversation: ' for this conversation',
};

type Around = { me?: string | undefined; task?: Pick<TaskRow, 'status'> | undefined };

export function approvalOutcome(row: ApprovalRow, { me, task }: Around = {}): Outcome | undefined {
  const when = at(row.decided_at);
  const quote = row.note || undefined;
  switch (row.status) {
    case 'open':
      return undefined;
    case 'decided':
    case 'approved':
    case 'denied':
      if (row.status === 'approved' || (row.status === 'decided' && row.allow)) {
        const reach = reaches[row.scope ?? ''] ?? '';
        const changes = row.edited ? ' with changes' : '';
        const text = `Allowed${changes} by ${who(row.by, me)}${reach}${when}`;
        return { text, quote, tone: 'done' };
      }
      if (!row.by) return { text: `Denied by a rule${when}`, quote, tone: 'failed' };
      return { text: `Denied by ${who(row.by, me)}${when}`, quote, tone: 'failed' };
    case 'expired':
      return { text: `Expired${when}. Nobody decided in time, so it was not done`, tone: 'quiet' };
    case 'cancelled':
      return { text: `Cancelled${when}. ${endOf(task)}, so it was not done`, tone: 'quiet' };
  }
}

function endOf(task: Around['task']): string {
  switch (task?.status) {
    case 'cancelled':
      return 'The task was stopped';
    case 'failed':
      return 'The task failed before';
    case 'timed_out':
      return 'The task ran out of time';
    default:
      return 'It is no longer wanted';
  }
}

/** A task that ends in one of these ways takes its questions with it; one that goes on, or succeeds, had none left. */
const stopped: ReadonlySet<TaskRow['status']> = new Set(['cancelled', 'failed', 'timed_out']);

const hasLapsed = ({ until, answered_at }: QuestionRow): boolean =>
  until !== undefined && answered_at !== undefined && Date.parse(answered_at) >= Date.parse(until);

export function questionOutcome(
  row: QuestionRow,
  person: string | undefined,
  { me, task }: Around = {},
): Outcome | undefined {
  if (row.status !== 'closed') return undefined;
  const when = at(row.answered_at);
  const quote = row.answer || undefined;
  switch (row.by) {
    case 'user':
      return { text: `Answered by ${who(person, me)}${when}`, quote, tone: 'done' };
    case 'decliner':
      return { text: `Left to the orchestrator by ${who(person, me)}${when}`, tone: 'done' };
    case 'orchestrator':
      return { text: `Answered by the orchestrator${when}`, quote, tone: 'done' };
    case 'earlier':
      return { text: `Answered with an earlier answer${when}`, quote, tone: 'done' };
    case 'nobody':
      return { text: `Nobody was there to answer${when}`, tone: 'quiet' };
  }
  if (hasLapsed(row) || !task || !stopped.has(task.status)) {
    return { text: `Expired${when}. Nobody answered in time`, tone: 'quiet' };
  }
  return { text: `Withdrawn${when}. ${endOf(task)}`, tone: 'quiet' };
}
