import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { getApproval, listQuestions } from '../../api/reads';
import { useList } from '../../store/hooks';
import type { InboxRow } from '../../store/list';
import type { ApprovalRow, QuestionRow } from '../../store/rows';
import { Button } from '../../ui/button';
import { Duration } from '../../ui/clock';
import { Exact } from '../../ui/exact';
import { RoleTile, roleName } from '../../ui/role';
import { Skeleton } from '../../ui/small';
import { useRolePath, useSaid } from '../asks/asker';
import { useAskKeys } from '../asks/keys';
import { useMyName } from '../asks/me';
import { lineOf, wishOf } from '../asks/subject';

// The list is there before somebody opens one of its cards.
const ApprovalCard = lazy(() =>
  import('../asks/approval').then((module) => ({ default: module.ApprovalCard })),
);
const QuestionCard = lazy(() =>
  import('../asks/question').then((module) => ({ default: module.QuestionCard })),
);

/** One thing that waits. It leads with what is asked. */
export function InboxItem({
  row,
  gone,
  place,
  expanded,
  onToggle,
  onDone,
}: {
  row: InboxRow;
  gone: boolean;
  place: string;
  expanded: boolean;
  onToggle: () => void;
  onDone: () => void;
}) {
  const title = useList((list) => list.conversations.get(row.conversation)?.title);
  const { approval, question } = row;
  const ask = approval?.id ?? question?.id ?? '';
  const headline = approval ? lineOf(approval) : (question?.text ?? '').split('\n', 1).join();
  const said = approval ? `wants to ${wishOf(approval.tool)}` : 'has a question';
  return (
    <li>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-3">
        <RoleTile roleId={row.role} size="large" />
        <div className="min-w-0 flex-1 basis-64">
          <p className="truncate font-medium text-sm">
            <Exact text={headline} />
          </p>
          <p className="truncate text-fg-3 text-xs">
            {roleName(row.role)} {said} ·{' '}
            <Link
              to="/c/$id"
              params={{ id: row.conversation }}
              search={{ ask }}
              className="text-fg-2 underline hover:text-fg"
            >
              {title || 'Untitled'}
            </Link>
          </p>
        </div>
        {!gone && (
          <span data-s="you" className="st st-fg tnum text-xs">
            waiting <Duration from={row.at} />
          </span>
        )}
        <Button
          size="small"
          look={expanded ? 'outline' : 'primary'}
          aria-expanded={expanded}
          onClick={onToggle}
          className="max-sm:ml-auto"
        >
          {expanded ? 'Fold' : approval ? 'Review' : 'Answer'}
          <span className="sr-only"> what {roleName(row.role)} asks</span>
        </Button>
      </div>
      {expanded && <Opened row={row} gone={gone} place={place} onDone={onDone} />}
    </li>
  );
}

function Opened({
  row,
  gone,
  place,
  onDone,
}: {
  row: InboxRow;
  gone: boolean;
  place: string;
  onDone: () => void;
}) {
  const { actions, onKeyDown } = useAskKeys();
  const me = useMyName();
  const ended = useEnded(row, gone);
  const said = useSaid(row.conversation, row.approval, undefined);
  const shared = {
    conversation: row.conversation,
    roles: useRolePath(row.conversation, (row.approval ?? row.question)?.agent ?? '', row.role),
    task: undefined,
    me,
    keys: actions,
    place,
    onDone: () => onDone(),
  };
  const { approval, question } = { approval: row.approval, question: row.question, ...ended };
  return (
    <section
      aria-label={`What ${roleName(row.role)} asks`}
      onKeyDown={onKeyDown}
      className="flex max-h-[70dvh] flex-col border-t bg-bg"
    >
      <Suspense fallback={<Skeleton className="m-3 h-24" />}>
        {approval && <ApprovalCard {...shared} approval={approval} said={said} />}
        {question && <QuestionCard {...shared} question={question} person={undefined} />}
      </Suspense>
    </section>
  );
}

type End = { approval: ApprovalRow } | { question: QuestionRow };

/** What became of a row that waits no longer. Its conversation is not open, so it is asked for. */
function useEnded(row: InboxRow, gone: boolean): End | undefined {
  const [end, setEnd] = useState<End>();
  useEffect(() => {
    if (!gone) return setEnd(undefined);
    const ended = new AbortController();
    void readEnd(row, ended.signal).then(
      (read) => !ended.signal.aborted && setEnd(read),
      // It stays as it was; a decision would be answered with what happened.
      () => undefined,
    );
    return () => ended.abort();
  }, [row, gone]);
  return end;
}

async function readEnd(row: InboxRow, signal: AbortSignal): Promise<End | undefined> {
  const { conversation, approval, question } = row;
  if (approval) return { approval: await getApproval(conversation, approval.id, { signal }) };
  const { items } = await listQuestions(conversation, { signal });
  const now = items.find((each) => each.id === question?.id);
  return now && question
    ? { question: { ...question, ...now, text: question.text ?? '' } }
    : undefined;
}
