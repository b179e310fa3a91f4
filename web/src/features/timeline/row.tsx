import { ChevronRight } from 'lucide-react';
import { memo, useMemo } from 'react';
import { activityOf, subjectOf, type TreeRow } from '../../store/activity';
import { useConversation } from '../../store/hooks';
import type { TaskRow } from '../../store/rows';
import { isOver } from '../../store/selectors';
import { isStopping } from '../../store/stopping';
import { ownUsage } from '../../store/usage';
import { cx } from '../../ui/classes';
import { duration } from '../../ui/format';
import { RoleTile, roleName } from '../../ui/role';
import { Money } from '../../ui/small';
import { StatusIcon, shownOf, wordOf } from '../../ui/status';
import { Lane } from './lane';
import type { Frame } from './layout';
import { type CallPages, together } from './pages';
import type { Scale } from './scale';
import { segments } from './segments';
import { lifeOf, spansOf } from './spans';
import { absence, inWords } from './words';

export interface RowProps {
  conversation: string;
  row: TreeRow;
  index: number;
  top: number;
  pages: CallPages;
  /** Changes when pages were read. */
  read: number;
  scale: Scale;
  frame: Frame;
  now: number;
  /** Where the keyboard is. */
  current: boolean;
  selected: boolean;
  closed: boolean;
  onOpen: (agent: string) => void;
  onToggle: (agent: string) => void;
}

export const rowId = (agent: string): string => `timeline-${agent}`;

/** One agent: who it is, what it did when, how long it took and what it cost. */
export const Row = memo(function Row(props: RowProps) {
  const { conversation, row, scale, frame, current, selected, closed } = props;
  const { agent, depth, below } = row;
  const view = useRow(props);
  return (
    <div
      id={rowId(agent.id)}
      role="row"
      aria-level={depth + 1}
      aria-rowindex={props.index + 1}
      aria-selected={selected}
      aria-expanded={below > 0 ? !closed : undefined}
      tabIndex={-1}
      onClick={() => props.onOpen(agent.id)}
      className={cx(
        'absolute inset-x-0 flex cursor-pointer items-center',
        frame.stacked && 'flex-wrap content-center',
        selected ? 'bg-accent-soft' : current ? 'bg-hover/70' : 'hover:bg-hover/50',
      )}
      style={{ top: props.top, height: frame.row }}
    >
      <div
        role="gridcell"
        className="flex min-w-0 items-center gap-2 pr-3"
        style={{ width: frame.stacked ? '100%' : frame.gutter, paddingLeft: 4 + depth * 16 }}
      >
        <Twist below={below} closed={closed} onToggle={() => props.onToggle(agent.id)} />
        <RoleTile roleId={agent.role} />
        <span className="min-w-0 flex-1 truncate text-sm" title={view.subject}>
          <span className="font-medium">{roleName(agent.role)}</span>{' '}
          <span className="text-fg-3">{view.subject}</span>
        </span>
        {frame.stacked && view.life && (
          <span className="tnum shrink-0 text-2xs text-fg-3">
            {view.lasted} · <Cost conversation={conversation} agent={agent.id} />
          </span>
        )}
        {view.shown && (
          <>
            <StatusIcon shown={view.shown} className="size-4" />
            <span className="sr-only">{wordOf(view.shown, view.waitsFor)}</span>
          </>
        )}
      </div>
      <div role="gridcell" className={cx(!frame.stacked && 'h-full')}>
        <Lane
          roleId={agent.role}
          scale={scale}
          frame={frame}
          segments={view.segments}
          tasks={view.tasks}
          note={view.note}
        />
        <span className="sr-only">{view.words}</span>
      </div>
      {!frame.stacked && (
        <div role="gridcell" className="tnum flex-1 pr-3 text-right text-fg-2 text-xs">
          {view.life ? (
            <>
              {view.lasted}
              <span className="block text-2xs text-fg-3 leading-3">
                <Cost conversation={conversation} agent={agent.id} />
              </span>
            </>
          ) : (
            '—'
          )}
        </div>
      )}
    </div>
  );
});

function useRow({ conversation, row, pages, read, scale, now }: RowProps) {
  const { agent } = row;
  const activity = useConversation(conversation, (state) => activityOf(state, agent.id));
  const subject = useConversation(conversation, (state) => subjectOf(state, agent));
  const task = activity.tasks.at(-1);
  const stopping = useConversation(conversation, (s) => task !== undefined && isStopping(s, task));
  const live = activity.tasks.some((t) => !isOver(t));
  const until = live ? now : 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: read says when there are other pages
  const done = useMemo(
    () => together(activity, pages.of(agent.id)),
    [activity, pages, read, agent.id],
  );
  const spans = useMemo(() => spansOf(done, until), [done, until]);
  const life = lifeOf(done, spans, until);
  const shownSegments = useMemo(() => segments(spans), [spans]);
  const waitsFor = activity.given.filter((t) => !isOver(t)).length;
  return {
    subject,
    life,
    lasted: life ? duration(life.to - life.from) : '',
    segments: shownSegments,
    tasks: activity.tasks,
    waitsFor,
    shown: task && shownOf(task, { agents: waitsFor, stopping }),
    note: noteOf(pages, agent.id, life !== undefined, task),
    words: inWords(life, !live, shownSegments, scale),
  };
}

/** What a lane says that has no bars. */
function noteOf(pages: CallPages, agent: string, begun: boolean, task: TaskRow | undefined) {
  if (!begun && task) return { text: absence(isOver(task)), at: Date.parse(task.assigned_at) };
  if (pages.hasFailed(agent)) return { text: 'What it did could not be read', at: 0 };
  return undefined;
}

function Cost({ conversation, agent }: { conversation: string; agent: string }) {
  const own = useConversation(conversation, (state) => ownUsage(state, agent));
  return <Money micro={own.cost_micro_usd} unpriced={own.unpriced_calls} />;
}

/** Opens and closes what is below, for those who point. The keys are the arrows. */
function Twist({
  below,
  closed,
  onToggle,
}: {
  below: number;
  closed: boolean;
  onToggle: () => void;
}) {
  if (below === 0) return <span className="w-4 shrink-0" />;
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-hidden="true"
      onClick={(event) => {
        event.stopPropagation();
        onToggle();
      }}
      className="-mr-1 grid h-6 w-5 shrink-0 place-items-center rounded-sm text-fg-3 hover:bg-active hover:text-fg"
    >
      <ChevronRight className={cx('size-3.5 transition-transform', !closed && 'rotate-90')} />
    </button>
  );
}
