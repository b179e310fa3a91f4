import { Link } from '@tanstack/react-router';
import { modelCallsOf } from '../../store/agentselectors';
import { useConversation } from '../../store/hooks';
import type { ModelCallRow } from '../../store/rows';
import { isOver, latestTask } from '../../store/selectors';
import { noUsage, plus } from '../../store/usage';
import { Button } from '../../ui/button';
import { useNow } from '../../ui/clock';
import { duration, money, plural, tokens } from '../../ui/format';
import { EmptyState, Money, Skeleton } from '../../ui/small';
import { StatusIcon } from '../../ui/status';
import { failureOf, type Retry, retryOf, retryWords, triesWords } from './attempt';
import type { Pages } from './usepages';

/** Every request to a model: what it used, what it cost, how long it took, and those that failed. */
export function ModelCalls({
  conversation,
  agent,
  pages,
}: {
  conversation: string;
  agent: string;
  pages: Pages;
}) {
  const calls = useConversation(conversation, (state) => modelCallsOf(state, agent));
  const working = useConversation(conversation, (state) => {
    const task = latestTask(state, agent);
    return task !== undefined && !isOver(task);
  });
  if (calls.length === 0) {
    if (pages.reading) return <Skeleton className="m-4 h-24" />;
    return <EmptyState title="No model was asked yet" />;
  }
  const failed = calls.filter((call) => call.status === 'failed').length;
  const used = calls.reduce((sum, call) => plus(sum, call.usage), noUsage);
  return (
    <div className="px-4 py-3">
      <p className="mb-2 text-fg-3 text-xs">
        {plural(calls.length, 'call')}
        {failed > 0 && `, ${failed} failed`} · {tokens(used.input)} in · {tokens(used.output)} out ·{' '}
        <Money micro={used.cost_micro_usd} unpriced={used.unpriced_calls} />
      </p>
      {pages.more && (
        <Button size="small" look="ghost" onClick={pages.earlier} disabled={pages.reading}>
          Show earlier calls
        </Button>
      )}
      <section className="overflow-x-auto" tabIndex={0} aria-label="Model calls">
        <table className="w-full text-xs">
          <thead className="text-left text-fg-3">
            <tr>
              <th scope="col" className="py-1.5 pr-3 font-medium">
                Step
              </th>
              <th scope="col" className="pr-3 font-medium">
                Model
              </th>
              {['In', 'Cached', 'Out', 'First token', 'Time', 'Cost'].map((name) => (
                <th key={name} scope="col" className="pl-3 text-right font-medium">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="tnum">
            {calls.map((call) => (
              <CallRow
                key={call.id}
                conversation={conversation}
                agent={agent}
                call={call}
                retry={retryOf(calls, call, working)}
              />
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

function CallRow({
  conversation,
  agent,
  call,
  retry,
}: {
  conversation: string;
  agent: string;
  call: ModelCallRow;
  retry: Retry | undefined;
}) {
  const failed = call.status === 'failed' || call.status === 'timed_out';
  const search = {
    kind: 'model' as const,
    of: agent,
    ...(call.task === agent ? {} : { task: call.task }),
  };
  return (
    <>
      <tr className="border-t">
        <td className="py-1.5 pr-3">
          <span className="flex items-center gap-1.5">
            <Link
              to="/c/$id/calls/$callId"
              params={{ id: conversation, callId: call.call }}
              search={search}
              aria-label={`Open model call ${call.call}`}
              className="inline-grid size-6 place-items-center rounded-sm text-accent underline-offset-2 hover:underline"
            >
              {call.turn ?? '–'}
            </Link>
            {call.status === 'running' && <StatusIcon shown="running" />}
            {failed && <StatusIcon shown={call.status === 'failed' ? 'failed' : 'timed_out'} />}
          </span>
        </td>
        <td className="max-w-36 truncate pr-3 font-mono">
          {call.model}
          {call.type && call.type !== 'prompt' && call.type !== 'continuation' && (
            <span className="text-fg-3"> {call.type}</span>
          )}
        </td>
        <td className="pl-3 text-right">{tokens(call.usage.input)}</td>
        <td className="pl-3 text-right text-fg-3">{tokens(call.usage.cache_read)}</td>
        <td className="pl-3 text-right">{tokens(call.usage.output)}</td>
        <td className="pl-3 text-right text-fg-3">
          {call.first_token_ms === undefined ? '–' : duration(call.first_token_ms)}
        </td>
        <td className="pl-3 text-right">{timeOf(call)}</td>
        <td className="pl-3 text-right">
          {call.usage.unpriced_calls > 0 ? (
            <span className="text-fg-3">unknown</span>
          ) : (
            money(call.usage.cost_micro_usd)
          )}
        </td>
      </tr>
      {(failed || (call.attempt ?? 1) > 1 || call.waited_ms || call.tries) && (
        <tr>
          <td />
          <td colSpan={7} className="pb-1.5 text-fg-3">
            <Attempt call={call} retry={retry} failed={failed} />
          </td>
        </tr>
      )}
    </>
  );
}

/** Which try it was, why it failed, how long it waited, and how long until the next one. */
function Attempt({
  call,
  retry,
  failed,
}: {
  call: ModelCallRow;
  retry: Retry | undefined;
  failed: boolean;
}) {
  const { attempt = 1, message, waited_ms: waited, tries } = call;
  return (
    <>
      {attempt > 1 && `Attempt ${attempt}. `}
      {tries && `${triesWords(tries)} `}
      {failed && (
        <span data-s="failed" className="st st-fg wrap-anywhere">
          {failureOf(call)}
          {message ? `: ${message}` : '.'}
        </span>
      )}{' '}
      {waited ? `Waited ${duration(waited)} before it was sent. ` : ''}
      {retry && (retry.waits ? <Wait retry={retry} /> : retryWords(retry, 0))}
    </>
  );
}

/** A wait that goes on, by the clock that all share. */
const Wait = ({ retry }: { retry: Retry }) => retryWords(retry, useNow());

function timeOf(call: ModelCallRow): string {
  if (call.duration_ms !== undefined) return duration(call.duration_ms);
  if (!call.started_at || !call.finished_at) return '–';
  return duration(Date.parse(call.finished_at) - Date.parse(call.started_at));
}
