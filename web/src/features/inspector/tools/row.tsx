import { Link } from '@tanstack/react-router';
import { lazy, memo, Suspense, useMemo } from 'react';
import { explain } from '../../../api/problem';
import { getToolCall } from '../../../api/reads';
import { useRead } from '../../../api/useread';
import { openApproval } from '../../../store/agentselectors';
import { useConversation } from '../../../store/hooks';
import type { ToolCallRow } from '../../../store/rows';
import { Duration } from '../../../ui/clock';
import { DiffCounts } from '../../../ui/diffcounts';
import { duration } from '../../../ui/format';
import { Skeleton } from '../../../ui/small';
import { StatusIcon } from '../../../ui/status';
import { useDisclosure } from '../disclosure';
import { FoldRow } from '../foldrow';
import { argsOf, linesChanged, mainArgument, readsLine } from './kinds';
import { toolIcon, toolStatus } from './looks';

const ToolBody = lazy(() => import('./bodies').then((m) => ({ default: m.ToolBody })));

/** One tool call: a line, and all of it when it is open. */
export const ToolRow = memo(function ToolRow({
  conversation,
  call,
  bare = false,
}: {
  conversation: string;
  call: ToolCallRow;
  /** Whether it stands in a frame already. */
  bare?: boolean;
}) {
  const [open, toggle] = useDisclosure(`${conversation} ${call.id}`);
  const waits = useConversation(
    conversation,
    (state) => openApproval(state, call.agent, call.call) !== undefined,
  );
  const args = useMemo(() => argsOf(call.args), [call.args]);
  const Icon = toolIcon(call.tool);
  const { shown, word } = toolStatus(waits ? 'waiting_approval' : call.status);
  const changed = linesChanged(call.tool, args);
  return (
    <FoldRow
      bare={bare ?? false}
      open={open}
      toggle={toggle}
      line={
        <>
          <Icon className="size-3.5 shrink-0 text-fg-3" aria-hidden="true" />
          <span className="shrink-0 font-mono text-xs">{call.tool}</span>
          <span className="min-w-0 flex-1 truncate font-mono text-fg-3 text-xs">
            {mainArgument(call.tool, args)}
          </span>
          {changed && call.status !== 'failed' && <DiffCounts {...changed} />}
          <Took call={call} />
          <StatusIcon shown={shown} />
          <span className="sr-only">{word}</span>
        </>
      }
    >
      <Opened conversation={conversation} call={call} />
    </FoldRow>
  );
});

function Took({ call }: { call: ToolCallRow }) {
  if (call.duration_ms !== undefined) {
    return <span className="tnum shrink-0 text-fg-3 text-xs">{duration(call.duration_ms)}</span>;
  }
  if (!call.started_at || (!call.finished_at && call.status !== 'running')) return null;
  return (
    <span className="shrink-0 text-fg-3 text-xs">
      <Duration from={call.started_at} to={call.finished_at} />
    </span>
  );
}

/** What went in and what came out, read now and forgotten when the row is closed. */
function Opened({ conversation, call }: { conversation: string; call: ToolCallRow }) {
  const { value, error } = useRead(
    call.id,
    (signal) => getToolCall(conversation, call.agent, call.call, { signal }),
    call.status,
  );
  return (
    <div className="space-y-2 border-t p-2">
      {!value && !error && <Skeleton className="h-16" />}
      {error !== undefined && <p className="text-fg-2 text-sm">{explain(error).what}</p>}
      {value && (
        <Suspense fallback={<Skeleton className="h-16" />}>
          <ToolBody conversation={conversation} call={value} />
        </Suspense>
      )}
      <Link
        to="/c/$id/calls/$callId"
        params={{ id: conversation, callId: call.call }}
        search={{ kind: 'tool', of: call.agent }}
        className="inline-block rounded-sm text-fg-3 text-xs hover:text-fg hover:underline"
      >
        Open this call
      </Link>
    </div>
  );
}

/** Reads in a row as one line. */
export function ReadsRow({
  conversation,
  calls,
}: {
  conversation: string;
  calls: readonly ToolCallRow[];
}) {
  const [open, toggle] = useDisclosure(`${conversation} reads ${calls[0]?.id}`);
  const Icon = toolIcon('read_file');
  return (
    <FoldRow
      open={open}
      toggle={toggle}
      line={
        <>
          <Icon className="size-3.5 shrink-0 text-fg-3" aria-hidden="true" />
          <span className="shrink-0">{readsLine(calls.map((call) => call.tool))}</span>
          <span className="min-w-0 flex-1 truncate font-mono text-fg-3 text-xs">
            {calls.map((call) => mainArgument(call.tool, argsOf(call.args))).join('  ')}
          </span>
          <StatusIcon shown="completed" />
          <span className="sr-only">Done</span>
        </>
      }
    >
      <ul className="divide-y border-t">
        {calls.map((call) => (
          <li key={call.id}>
            <ToolRow conversation={conversation} call={call} bare />
          </li>
        ))}
      </ul>
    </FoldRow>
  );
}
