import { CircleCheck, CircleHelp, CircleX, type LucideIcon } from 'lucide-react';
import type { Schemas } from '../../api/types';
import { useRead } from '../../api/useread';
import { useTexts } from '../../api/within';
import { Markdown } from '../../markdown/markdown';
import type { TaskRow } from '../../store/rows';
import { isOver } from '../../store/selectors';
import { Button } from '../../ui/button';
import { patchIn } from '../../ui/difflines';
import { whyEnded } from '../../ui/ended';
import { duration, plural, tokens } from '../../ui/format';
import { EmptyState, Skeleton, type Tone } from '../../ui/small';
import { StatusBadge, shownOf } from '../../ui/status';
import { useDisclosure } from './disclosure';
import { Json } from './json';
import { Diff, Output } from './output';
import { type Finding, factLines, receiptOf, type Verdict, verdictWords } from './receipt';
import { Section } from './section';

/** What came of an agent's task, and what of its claims is true. */
export function ResultView({
  conversation,
  task,
  detail,
}: {
  conversation: string;
  task: TaskRow | undefined;
  detail: Schemas['TaskView'] | undefined;
}) {
  if (!task) return <Skeleton className="m-4 h-24" />;
  if (!isOver(task)) {
    return (
      <EmptyState title="Not done yet">The result stands here when the agent ends.</EmptyState>
    );
  }
  const result = detail?.result ?? task.result;
  const receipt = receiptOf(detail?.receipt ?? task.receipt);
  const summary = detail?.summary ?? task.summary ?? '';
  const message = detail?.message ?? task.message ?? '';
  return (
    <div className="space-y-5 px-4 py-4">
      <div className="flex flex-wrap items-center gap-2">
        <StatusBadge shown={shownOf(task)} />
        {task.status === 'failed' && (
          <span className="text-fg-3 text-xs">{whyEnded(task.error_kind, task.end_reason)}</span>
        )}
      </div>
      {message && (
        <Section title="Why it ended">
          <p className="break-words text-fg-2 text-sm">{message}</p>
        </Section>
      )}
      {summary && (
        <Section title={task.status === 'completed' ? 'Result' : 'What was kept'}>
          <Markdown text={summary} />
        </Section>
      )}
      {receipt && <Receipt receipt={receipt} />}
      {task.patch && <Patch conversation={conversation} task={task} />}
      {result !== undefined && result !== null && (
        <Section title="Raw result">
          <Json value={result} />
        </Section>
      )}
      {!summary && !message && result == null && (
        <p className="text-fg-3 text-sm">It left no result.</p>
      )}
    </div>
  );
}

const looks: Record<Verdict, { icon: LucideIcon; tone: Tone }> = {
  verified: { icon: CircleCheck, tone: 'done' },
  unverified: { icon: CircleHelp, tone: 'quiet' },
  contradicted: { icon: CircleX, tone: 'failed' },
  none: { icon: CircleHelp, tone: 'quiet' },
};

function Receipt({ receipt }: { receipt: NonNullable<ReturnType<typeof receiptOf>> }) {
  const facts = factLines(receipt);
  return (
    <Section title="Claims vs. evidence">
      {receipt.claims.length === 0 && <p className="text-fg-3 text-sm">It claims nothing.</p>}
      {receipt.claims.length > 0 && (
        <ul className="divide-y rounded-lg border bg-surface">
          {receipt.claims.map((finding) => (
            <Claim key={`${finding.kind} ${finding.claim}`} finding={finding} />
          ))}
        </ul>
      )}
      {receipt.unclaimed.length > 0 && (
        <p className="mt-2 break-words text-fg-2 text-sm">
          Changed, but not said so:{' '}
          <span className="font-mono text-xs">{receipt.unclaimed.join(', ')}</span>
        </p>
      )}
      {facts.length > 0 && (
        <ul aria-label="What it did" className="mt-3 space-y-1 text-fg-2 text-sm">
          {facts.map((fact) => (
            <li key={`${fact.label} ${fact.text}`} className="flex gap-2">
              <span className="w-20 shrink-0 text-fg-3">{fact.label}</span>
              <span className="min-w-0 break-words font-mono text-xs leading-5">{fact.text}</span>
            </li>
          ))}
        </ul>
      )}
      <p className="mt-2 text-fg-3 text-xs">
        {[
          receipt.calls && plural(receipt.calls, 'tool call'),
          receipt.tokens && `${tokens(receipt.tokens)} tokens`,
          receipt.duration && duration(receipt.duration),
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
    </Section>
  );
}

function Claim({ finding }: { finding: Finding }) {
  const { icon: Icon, tone } = looks[finding.verdict];
  return (
    <li className="flex items-start gap-2 px-3 py-2 text-sm">
      <span data-s={tone} className="st st-fg mt-[3px] inline-flex shrink-0">
        <Icon className="size-3.5" aria-hidden="true" strokeWidth={2.1} />
      </span>
      <div className="min-w-0 flex-1">
        <p className="break-words">
          <span className="text-fg-3">{finding.label} </span>
          <span className={finding.kind === 'tests' ? '' : 'font-mono text-xs'}>
            {finding.claim}
          </span>
        </p>
        {finding.reason && <p className="text-fg-3 text-xs">{finding.reason}</p>}
      </div>
      <span data-s={tone} className="st st-fg shrink-0 font-medium text-xs leading-5">
        {verdictWords[finding.verdict]}
      </span>
    </li>
  );
}

function Patch({ conversation, task }: { conversation: string; task: TaskRow }) {
  const [open, toggle] = useDisclosure(`${conversation} patch ${task.id}`);
  const patch = task.patch;
  if (!patch) return null;
  return (
    <Section
      title={`Changes in its own copy of the files${patch.partial ? ', not all of them' : ''}`}
    >
      {patch.problem && <p className="text-fg-2 text-sm">{patch.problem}</p>}
      <ul className="space-y-0.5 font-mono text-fg-2 text-xs">
        {patch.files.map((file) => (
          <li key={file.path} className="break-all">
            {file.path}
          </li>
        ))}
      </ul>
      {patch.text && (
        <Button size="small" className="mt-2" aria-expanded={open} onClick={toggle}>
          {open ? 'Hide the changes' : 'Show the changes'}
        </Button>
      )}
      {open && patch.text && <PatchText hash={patch.text} />}
    </Section>
  );
}

function PatchText({ hash }: { hash: string }) {
  const texts = useTexts();
  const { value, error } = useRead(hash, (signal) => texts(hash, { signal }));
  if (error) return <p className="mt-2 text-fg-3 text-sm">The changes cannot be read.</p>;
  if (!value) return <Skeleton className="mt-2 h-24" />;
  const lines = patchIn(value.text);
  return (
    <div className="mt-2">
      {lines ? <Diff lines={lines} label="patch" /> : <Output text={value.text} label="patch" />}
    </div>
  );
}
