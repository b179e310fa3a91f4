import { stepsOf } from '../../store/agentselectors';
import { useConversation } from '../../store/hooks';
import type { TaskRow } from '../../store/rows';
import { subtreeUsage } from '../../store/usage';
import { useNow } from '../../ui/clock';
import { duration, money } from '../../ui/format';
import { Meter } from '../../ui/small';
import { limit } from './configvalues';
import { waitsOf, worked } from './waits';

/** Steps, time and cost of a task against what it may use. Where there is no limit the number stands alone. */
export function Limits({
  conversation,
  task,
  costLimit,
}: {
  conversation: string;
  task: TaskRow;
  costLimit: number | undefined;
}) {
  const steps = useConversation(conversation, (state) => stepsOf(state, task));
  const used = useConversation(conversation, (state) => subtreeUsage(state, task.agent));
  const cost = `${money(used.cost_micro_usd)}${used.unpriced_calls > 0 ? ' estimate' : ''}`;
  return (
    <div className="mt-3 grid grid-cols-[repeat(auto-fit,minmax(6.5rem,1fr))] gap-x-4 gap-y-2">
      <Limit label="Steps" value={steps} max={task.max_iterations} text={String(steps)} />
      {task.started_at && (
        <Time conversation={conversation} task={task} started={task.started_at} />
      )}
      <Limit
        label="Cost"
        value={used.cost_micro_usd}
        max={costLimit}
        text={cost}
        most={costLimit === undefined ? '' : money(costLimit)}
      />
    </div>
  );
}

function Limit({
  label,
  value,
  max,
  text,
  most = String(max),
}: {
  label: string;
  value: number;
  max: number | undefined;
  text: string;
  most?: string;
}) {
  if (max) return <Meter label={label} value={value} max={max} text={`${text} / ${most}`} />;
  return (
    <div className="flex min-w-0 flex-1 items-baseline justify-between gap-2 text-xs">
      <span className="text-fg-3">{label}</span>
      <span className="tnum truncate text-fg-2">{text}</span>
    </div>
  );
}

/** How long the agent worked. While somebody is asked its time stands still. */
function Time({
  conversation,
  task,
  started,
}: {
  conversation: string;
  task: TaskRow;
  started: string;
}) {
  const waits = useConversation(conversation, (state) => waitsOf(state, task.agent));
  const from = Date.parse(started);
  const most = task.max_duration_ms;
  if (task.finished_at === undefined) return <Ticking from={from} waits={waits} most={most} />;
  return <Spent ms={worked(from, Date.parse(task.finished_at), waits)} most={most} />;
}

interface TickingProps {
  from: number;
  waits: readonly number[];
  most: number | undefined;
}

function Ticking({ from, waits, most }: TickingProps) {
  const ms = worked(from, Math.max(from, useNow()), waits);
  return <Spent ms={Math.floor(ms / 1000) * 1000} most={most} />;
}

const Spent = ({ ms, most }: { ms: number; most: number | undefined }) => (
  <Limit
    label="Time"
    value={ms}
    max={most}
    text={duration(ms)}
    most={most === undefined ? '' : limit(most)}
  />
);
