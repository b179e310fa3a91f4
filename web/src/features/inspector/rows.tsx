import { Brain, ChevronRight, CornerDownRight, PenLine } from 'lucide-react';
import { lazy, memo, Suspense } from 'react';
import { Block } from '../../markdown/block';
import { Markdown } from '../../markdown/markdown';
import { useSelectAgent } from '../../shell/selection';
import { workingBelow } from '../../store/agentselectors';
import { useConversation } from '../../store/hooks';
import type { NoteRow, TaskRow } from '../../store/rows';
import { isStopping } from '../../store/stopping';
import { cx } from '../../ui/classes';
import { Duration } from '../../ui/clock';
import { RoleTile, roleName } from '../../ui/role';
import { Skeleton } from '../../ui/small';
import { StatusBadge, StatusIcon, shownOf, wordOf } from '../../ui/status';
import { useDisclosure } from './disclosure';
import type { Entry } from './entries';
import { TaskCard } from './taskcard';
import { ReadsRow, ToolRow } from './tools/row';

const Picture = lazy(() => import('./picture').then((m) => ({ default: m.Picture })));

interface Props {
  conversation: string;
  entry: Entry;
  onShowResult: () => void;
}

/** One row of a transcript. */
export const EntryRow = memo(function EntryRow({ conversation, entry, onShowResult }: Props) {
  switch (entry.kind) {
    case 'task':
      return (
        <div className="pb-4">
          <TaskCard conversation={conversation} task={entry.task} again={entry.again} />
        </div>
      );
    case 'text':
      return (
        <div className={cx('prose pb-3', entry.first && 'pt-2', entry.open && 'caret-host')}>
          <Block raw={entry.raw} open={entry.open} />
        </div>
      );
    case 'thinking':
      return <Thinking conversation={conversation} entry={entry} />;
    case 'told':
      return (
        <div className="pb-3">
          <div className="prose whitespace-pre-wrap rounded-xl bg-hover px-3.5 py-2.5">
            <p className="text-fg-3 text-xs">{entry.by ? `From ${entry.by}` : 'Told'}</p>
            {entry.text}
          </div>
        </div>
      );
    case 'image':
      return (
        <div className="pb-3">
          <Suspense fallback={<Skeleton className="h-32" />}>
            <Picture hash={entry.hash} label="An image that the agent was shown" />
          </Suspense>
        </div>
      );
    case 'tool':
      return (
        <div className="pb-2">
          <ToolRow conversation={conversation} call={entry.call} />
        </div>
      );
    case 'writing':
      return <Writing tool={entry.tool} />;
    case 'reads':
      return (
        <div className="pb-2">
          <ReadsRow conversation={conversation} calls={entry.calls} />
        </div>
      );
    case 'agents':
      return (
        <ul className="mb-3 divide-y overflow-hidden rounded-lg border bg-surface">
          {entry.tasks.map((task) => (
            <li key={task.id}>
              <ChildRow conversation={conversation} task={task} />
            </li>
          ))}
        </ul>
      );
    case 'note':
      return <Note note={entry.note} />;
    case 'end':
      return <End task={entry.task} onShowResult={onShowResult} />;
  }
});

function Thinking({
  conversation,
  entry,
}: {
  conversation: string;
  entry: Extract<Entry, { kind: 'thinking' }>;
}) {
  const [open, toggle] = useDisclosure(`${conversation} ${entry.key}`);
  const line = entry.text.trim().replaceAll(/\s+/g, ' ');
  return (
    <div className="pb-2">
      <button
        type="button"
        aria-expanded={open}
        onClick={toggle}
        className="flex min-h-7 w-full items-center gap-2 rounded-md px-1 text-left text-fg-3 text-sm hover:text-fg-2 pointer-coarse:min-h-11"
      >
        <Brain className="size-3.5 shrink-0" aria-hidden="true" />
        <span className="shrink-0">{entry.open ? 'Thinking…' : 'Thought'}</span>
        {!open && (
          <span className="min-w-0 flex-1 truncate" aria-hidden={entry.open}>
            {entry.open ? line.slice(-120) : line.slice(0, 160)}
          </span>
        )}
        <ChevronRight
          className={cx(
            'size-3.5 shrink-0 transition-transform duration-150',
            open && 'ml-auto rotate-90',
          )}
          aria-hidden="true"
        />
      </button>
      {open && (
        <div className="mt-1 ml-2.5 border-l pl-3 opacity-90">
          <Markdown text={entry.text} />
        </div>
      )}
    </div>
  );
}

function Writing({ tool }: { tool: string }) {
  return (
    <div className="flex min-h-8 items-center gap-2 rounded-lg border border-dashed px-2.5 pb-0 text-fg-3 text-sm">
      <PenLine className="size-3.5 shrink-0" aria-hidden="true" />
      <span className="font-mono text-xs">{tool}</span>
      <span>is being written…</span>
    </div>
  );
}

/** An agent that this one called. It opens in its place. */
function ChildRow({ conversation, task }: { conversation: string; task: TaskRow }) {
  const select = useSelectAgent();
  const role = useConversation(
    conversation,
    (state) => task.role ?? state.agents.get(task.agent)?.role ?? '',
  );
  const agents = useConversation(conversation, (state) => workingBelow(state, task.agent));
  const stopping = useConversation(conversation, (state) => isStopping(state, task));
  return (
    <button
      type="button"
      data-agent={task.agent}
      onClick={() => select(task.agent)}
      className="flex min-h-11 w-full items-center gap-2.5 px-2.5 py-1 text-left hover:bg-hover/60"
    >
      <RoleTile roleId={role} />
      <span className="shrink-0 font-medium text-sm">{roleName(role)}</span>
      <span className="min-w-0 flex-1 truncate text-fg-2 text-sm">
        {task.title ?? task.instruction}
      </span>
      {task.started_at && (
        <span className="shrink-0 text-fg-3 text-xs">
          <Duration from={task.started_at} to={task.finished_at} />
        </span>
      )}
      <StatusBadge shown={shownOf(task, { agents, stopping })} agents={agents} />
    </button>
  );
}

function Note({ note }: { note: NoteRow }) {
  return (
    <p className="flex items-start gap-2 pb-3 text-fg-2 text-sm">
      <CornerDownRight className="mt-1 size-3.5 shrink-0 text-fg-3" aria-hidden="true" />
      <span className="min-w-0 break-words">{note.text || note.note.replaceAll('_', ' ')}</span>
    </p>
  );
}

function End({ task, onShowResult }: { task: TaskRow; onShowResult: () => void }) {
  const shown = shownOf(task);
  const why = task.message || task.summary || '';
  return (
    <div className="mt-2 flex items-start gap-2 border-t pt-3 text-sm">
      <span className="mt-[3px]">
        <StatusIcon shown={shown} />
      </span>
      <p className="line-clamp-3 min-w-0 flex-1 break-words text-fg-2">
        <span className="font-medium text-fg">{wordOf(shown)}</span>
        {why && ` · ${why}`}
      </p>
      <button
        type="button"
        onClick={onShowResult}
        className="shrink-0 rounded-sm text-accent hover:underline"
      >
        See the result
      </button>
    </div>
  );
}
