import { ChevronRight, ListTree } from 'lucide-react';
import { useSelectAgent } from '../../shell/selection';
import { chatItems, subtasks } from '../../store/chat';
import type { ConversationState } from '../../store/conversation';
import { useConversation } from '../../store/hooks';
import type { TaskRow } from '../../store/rows';
import { isStopping } from '../../store/stopping';
import { cx } from '../../ui/classes';
import { Duration } from '../../ui/clock';
import { plural } from '../../ui/format';
import { RoleTile, roleName } from '../../ui/role';
import { type Shown, StatusBadge, shownOf, toneOf } from '../../ui/status';
import { visible } from '../../ui/visible';
import { Disclosure } from './disclosure';
import type { Edge, Row } from './row';
import { TaskDetails } from './taskdetails';
import { glance, titleOf } from './taskline';

type Of<K extends Row['kind']> = Extract<Row, { kind: K }>;

// What lies in a corner is clipped. Nothing else is: a clip for each row costs as much as drawing it.
const tops: Record<Edge, string> = {
  only: 'overflow-hidden rounded-lg border mb-4',
  first: 'overflow-hidden rounded-t-lg border',
  middle: 'border-x border-b',
  last: 'overflow-hidden rounded-b-lg border-x border-b mb-4',
};

/** The rows of a group look like one card, although each is drawn by itself. */
export const cardEdge = (edge: Edge): string => cx('bg-surface', tops[edge]);

const order: Shown[] = [
  'completed',
  'running',
  'waiting_agents',
  'waiting_approval',
  'waiting_user_input',
  'failed',
  'timed_out',
  'stopping',
  'cancelled',
  'queued',
];
const words: Record<Shown, string> = {
  completed: 'done',
  running: 'running',
  waiting_agents: 'waiting for agents',
  waiting_approval: 'waiting for you',
  waiting_user_input: 'waiting for you',
  failed: 'failed',
  timed_out: 'timed out',
  stopping: 'stopping',
  cancelled: 'cancelled',
  queued: 'queued',
};

/** How many tasks of a group are how far, in the order of the bar. */
export function countsOf(tasks: readonly TaskRow[], state: ConversationState): [Shown, number][] {
  const counts = new Map<Shown, number>();
  for (const task of tasks) {
    const shown = shownOf(task, { stopping: isStopping(state, task) });
    const key = shown === 'waiting_user_input' ? 'waiting_approval' : shown;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return order.flatMap((shown) => {
    const count = counts.get(shown);
    return count === undefined ? [] : [[shown, count] as [Shown, number]];
  });
}

/** The head of a group: how many there are, and how far they are. */
export function GroupHeader({ conversation, row }: { conversation: string; row: Of<'group'> }) {
  const text = useConversation(conversation, (state) => {
    const group = chatItems(state).find((item) => item.id === row.call);
    return group?.kind === 'group' ? JSON.stringify(countsOf(group.tasks, state)) : '[]';
  });
  const counts = JSON.parse(text) as [Shown, number][];
  const label = `Delegated ${plural(row.count, 'task')} in parallel`;
  return (
    <header
      className={cx(
        'flex flex-wrap items-center gap-x-3 gap-y-1 border bg-sunken/60 px-3 py-2',
        row.open ? 'rounded-t-lg' : 'mb-4 rounded-lg',
      )}
    >
      <button
        type="button"
        aria-expanded={row.open}
        onClick={() => Disclosure.of(conversation).set(row.call, !row.open)}
        className="-ml-1.5 flex min-h-6 items-center gap-1.5 rounded-sm px-1 text-left hover:bg-active"
      >
        <Chevron open={row.open} />
        <h3 className="font-medium text-sm">{label}</h3>
      </button>
      <Bar counts={counts} total={row.count} />
      <p className="text-fg-3 text-xs">
        {counts.map(([shown, count]) => `${count} ${words[shown]}`).join(' · ')}
      </p>
    </header>
  );
}

/** The same as a picture, drawn with attributes only. */
function Bar({ counts, total }: { counts: readonly [Shown, number][]; total: number }) {
  let at = 0;
  const gap = counts.length > 1 ? 1.5 : 0;
  const room = 96 - gap * (counts.length - 1);
  return (
    <svg viewBox="0 0 96 6" className="h-1.5 w-24 shrink-0" aria-hidden="true">
      {counts.map(([shown, count]) => {
        const width = (count / total) * room;
        const x = at;
        at += width + gap;
        return (
          <g key={shown} data-s={toneOf(shown)} className="st st-ink">
            <rect x={x} y={0} width={width} height={6} rx={2} fill="currentColor" />
          </g>
        );
      })}
    </svg>
  );
}

function Chevron({ open }: { open: boolean }) {
  return (
    <ChevronRight
      className={cx('size-3.5 transition-transform duration-150', open && 'rotate-90')}
      aria-hidden="true"
    />
  );
}

const indents = ['pl-1.5', 'pl-[52px]', 'pl-[98px]'] as const;
export const indentOf = (depth: number): string => indents[Math.min(depth, 2)] as string;

/** One task: who, what, how long, how far. Opened it says more. */
export function TaskRowView({ conversation, row }: { conversation: string; row: Of<'task'> }) {
  const seen = useConversation(conversation, (state) => {
    const task = state.tasks.get(row.task);
    const role = task?.role ?? (task && state.agents.get(task.agent)?.role) ?? '';
    return task && { task, role, ...glance(state, task) };
  });
  const select = useSelectAgent();
  if (!seen) return null;
  const { task, role } = seen;
  const name = roleName(role);
  const title = titleOf(task);
  return (
    <section
      aria-label={`${name}: ${title}`}
      data-task={task.id}
      className={cx((row.depth > 0 || row.open) && 'relative', cardEdge(row.edge))}
    >
      <Rails depth={row.depth} />
      <div
        className={cx(
          'flex min-h-8 items-center gap-2 py-1.5 pr-2 hover:bg-hover/60',
          indentOf(row.depth),
        )}
      >
        <button
          type="button"
          aria-expanded={row.open}
          aria-label={`${row.open ? 'Collapse' : 'Expand'} ${name}: ${title}`}
          onClick={() => Disclosure.of(conversation).set(row.key, !row.open)}
          className="touch grid size-6 shrink-0 place-items-center rounded-sm text-fg-3 hover:bg-active hover:text-fg"
        >
          <Chevron open={row.open} />
        </button>
        <RoleTile roleId={role} />
        <button
          type="button"
          onClick={() => select(task.agent)}
          className="flex min-w-0 flex-1 flex-col py-0.5 text-left outline-offset-4 sm:flex-row sm:items-baseline sm:gap-2"
        >
          <span className="shrink-0 font-medium text-sm">{name}</span>
          <span className="w-full min-w-0 truncate text-fg-2 text-sm sm:w-auto">
            {visible(title)}
          </span>
        </button>
        {task.started_at && (
          <span className="hidden shrink-0 text-fg-3 text-xs sm:inline">
            <Duration from={task.started_at} to={task.finished_at} />
          </span>
        )}
        <StatusBadge shown={seen.shown} agents={seen.agents} />
      </div>
      {row.open && <TaskDetails conversation={conversation} task={task} seen={seen} row={row} />}
    </section>
  );
}

const rails = ['left-[39px]', 'left-[85px]'] as const;

/** Lines that tie a task to the one that asked for it. */
export function Rails({ depth }: { depth: number }) {
  return rails
    .slice(0, depth)
    .map((left) => (
      <span
        key={left}
        aria-hidden="true"
        className={cx('absolute top-0 bottom-0 w-px bg-line-strong/70', left)}
      />
    ));
}

/** What lies too deep to be drawn here. */
export function DeeperRow({ conversation, row }: { conversation: string; row: Of<'deeper'> }) {
  const task = useConversation(conversation, (state) => state.tasks.get(row.task));
  const count = useConversation(conversation, (state) => {
    const found = state.tasks.get(row.task);
    return found ? subtasks(state, found).length : 0;
  });
  const select = useSelectAgent();
  if (!task) return null;
  return (
    <div className={cx('relative', cardEdge(row.edge))}>
      <Rails depth={row.depth} />
      <div className={cx('py-1', indentOf(row.depth))}>
        <button
          type="button"
          onClick={() => select(task.agent)}
          className="touch ml-8 inline-flex min-h-6 items-center gap-1.5 rounded-sm px-1.5 text-fg-2 text-xs hover:bg-active hover:text-fg"
        >
          <ListTree className="size-3.5" aria-hidden="true" />
          {plural(count, 'agent')} below it
        </button>
      </div>
    </div>
  );
}

/** The end of a group that is too long to be shown whole, or was. */
export function FoldRow({ conversation, row }: { conversation: string; row: Of<'fold'> }) {
  const all = row.hidden === 0;
  return (
    <div className={cx('px-1.5 py-1', cardEdge(row.edge))}>
      <button
        type="button"
        aria-expanded={all}
        onClick={() => Disclosure.of(conversation).set(`${row.call} all`, !all)}
        className="touch inline-flex min-h-7 items-center gap-1.5 rounded-sm px-1.5 text-fg-2 text-xs hover:bg-active hover:text-fg"
      >
        <Chevron open={all} />
        {all ? 'Show fewer' : `Show ${row.hidden.toLocaleString()} more`}
      </button>
    </div>
  );
}
