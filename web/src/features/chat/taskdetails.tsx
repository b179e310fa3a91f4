import {
  CornerDownRight,
  FileDiff,
  type LucideIcon,
  PanelRightOpen,
  ShieldAlert,
  ShieldCheck,
  ShieldQuestion,
} from 'lucide-react';
import { useSelectAgent } from '../../shell/selection';
import type { TaskRow } from '../../store/rows';
import { isOver } from '../../store/selectors';
import { cx } from '../../ui/classes';
import { tokens } from '../../ui/format';
import { Money, type Tone } from '../../ui/small';
import { visible } from '../../ui/visible';
import type { Row } from './row';
import { StopTask } from './stop';
import { filesOf, type Glance, troubleOf, type Verdict, verdictOf } from './taskline';
import { useDoing } from './ticker';

/** How many files are named; the inspector has all. */
const FILES = 6;

const insets = ['pl-[62px]', 'pl-[108px]', 'pl-[154px]'] as const;
const rails = ['left-[39px]', 'left-[85px]', 'left-[131px]'] as const;

/** What came of a task, or what it is doing. */
export function TaskDetails({
  conversation,
  task,
  seen,
  row,
}: {
  conversation: string;
  task: TaskRow;
  seen: Glance;
  row: Extract<Row, { kind: 'task' }>;
}) {
  const trouble = troubleOf(task);
  const verdict = verdictOf(task);
  const depth = Math.min(row.depth, 2);
  return (
    <div className={cx('pr-3 pb-2', insets[depth])}>
      <span
        aria-hidden="true"
        className={cx('absolute top-9 bottom-2 w-px bg-line-strong/70', rails[depth])}
      />
      {task.summary && <p className="line-clamp-4 text-fg-2 text-sm">{visible(task.summary)}</p>}
      {trouble && (
        <p data-s={task.status === 'failed' ? 'failed' : 'limit'} className="st st-fg text-sm">
          {trouble}
        </p>
      )}
      {!isOver(task) && <Ticker conversation={conversation} task={task} />}
      <Files task={task} />
      <Footer conversation={conversation} task={task} seen={seen} verdict={verdict} />
    </div>
  );
}

/** What it does now, in a line that stays as high as it is. */
function Ticker({ conversation, task }: { conversation: string; task: TaskRow }) {
  const what = useDoing(conversation, task.id);
  return (
    <p className="flex h-5 items-center gap-1.5 text-fg-2 text-sm">
      <CornerDownRight className="size-3.5 shrink-0 text-fg-3" aria-hidden="true" />
      <span className={cx('truncate', task.status === 'running' && 'caret')}>{what}</span>
    </p>
  );
}

function Files({ task }: { task: TaskRow }) {
  const files = filesOf(task);
  if (files.length === 0) return null;
  return (
    <ul aria-label="Changed files" className="mt-1.5 flex flex-wrap gap-1.5">
      {files.slice(0, FILES).map(({ path, added, removed }) => (
        <li
          key={path}
          title={path}
          className="inline-flex h-6 max-w-full items-center gap-1.5 rounded-md border bg-bg px-1.5 text-xs"
        >
          <FileDiff className="size-3 shrink-0 text-fg-3" aria-hidden="true" />
          <span className="truncate font-mono text-2xs">{path.split('/').slice(-2).join('/')}</span>
          {added !== undefined && added > 0 && (
            <span data-s="done" className="st st-fg tnum text-2xs">
              +{added}
            </span>
          )}
          {removed !== undefined && removed > 0 && (
            <span data-s="failed" className="st st-fg tnum text-2xs">
              −{removed}
            </span>
          )}
        </li>
      ))}
      {files.length > FILES && (
        <li className="inline-flex h-6 items-center text-fg-3 text-xs">
          and {files.length - FILES} more
        </li>
      )}
    </ul>
  );
}

const verdicts: Record<Verdict, { icon: LucideIcon; tone: Tone; word: string }> = {
  verified: { icon: ShieldCheck, tone: 'done', word: 'Claims verified' },
  unverified: { icon: ShieldQuestion, tone: 'quiet', word: 'Claims not verified' },
  contradicted: { icon: ShieldAlert, tone: 'failed', word: 'Claims contradicted' },
};

/** Its claims, compared with its work. */
function Receipt({ verdict }: { verdict: Verdict }) {
  const { icon: Icon, tone, word } = verdicts[verdict];
  return (
    <span data-s={tone} className="st st-fg inline-flex items-center gap-1">
      <Icon className="size-3.5" aria-hidden="true" />
      {word}
    </span>
  );
}

function Footer({
  conversation,
  task,
  seen,
  verdict,
}: {
  conversation: string;
  task: TaskRow;
  seen: Glance;
  verdict: Verdict | undefined;
}) {
  const select = useSelectAgent();
  const limit = task.max_iterations ? `/${task.max_iterations}` : '';
  return (
    <div className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-fg-3 text-xs">
      {seen.steps > 0 && (
        <span className="tnum">
          {seen.steps}
          {limit} steps · {tokens(seen.tokens)} tokens ·{' '}
          <Money micro={seen.micro} unpriced={seen.unpriced} />
        </span>
      )}
      {verdict && <Receipt verdict={verdict} />}
      <span className="flex-1" />
      {!isOver(task) && (
        <StopTask
          conversation={conversation}
          task={task.id}
          below={seen.below}
          stopping={seen.shown === 'stopping'}
        />
      )}
      <button
        type="button"
        onClick={() => select(task.agent)}
        className="touch inline-flex h-6 items-center gap-1 rounded-sm px-1.5 hover:bg-active hover:text-fg"
      >
        <PanelRightOpen className="size-3" aria-hidden="true" />
        Open
      </button>
    </div>
  );
}
