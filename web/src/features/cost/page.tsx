import { Link, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CostSearch } from '../../shell/search';
import { useConversationId } from '../../shell/selection';
import { agentTree, limitOf, subjectOf, summaryOf } from '../../store/activity';
import { useConversation } from '../../store/hooks';
import { Button } from '../../ui/button';
import { cx } from '../../ui/classes';
import { Duration } from '../../ui/clock';
import { plural, tokens } from '../../ui/format';
import { RoleTile, roleName } from '../../ui/role';
import { EmptyState, Skeleton } from '../../ui/small';
import { Budget } from './budget';
import { byAgent, byName, byTurn, cachedShare, type Line } from './lines';
import { CostTable } from './table';
import { type Bill, type By, useBill } from './usage';

const groupings: readonly By[] = ['agent', 'role', 'model', 'turn'];

/** What a conversation cost, as the server sums it up. */
export function CostPage() {
  const conversation = useConversationId();
  const by = (useSearch({ strict: false }) as CostSearch).by ?? 'agent';
  const { bill, error, retry } = useBill(conversation, by);
  if (error !== undefined && !bill) {
    return (
      <EmptyState
        title="The figures could not be read"
        action={<Button onClick={retry}>Try again</Button>}
      >
        Nothing is lost: they are kept by the server.
      </EmptyState>
    );
  }
  return (
    <section aria-label="Cost" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto max-w-[980px] space-y-8 px-4 py-6 sm:px-6">
        {bill ? (
          <Figures conversation={conversation} bill={bill} />
        ) : (
          <Skeleton className="h-40 w-full" />
        )}
      </div>
    </section>
  );
}

function Figures({ conversation, bill }: { conversation: string; bill: Bill }) {
  const tree = useConversation(conversation, agentTree);
  const limit = useConversation(conversation, limitOf);
  const { by, sums } = bill;
  const calls = sums.items.reduce((n, item) => n + item.calls, 0);
  const lines =
    by === 'agent'
      ? byAgent(tree, sums.items)
      : by === 'turn'
        ? byTurn(tree, sums.items)
        : byName(sums.items).map((line) => (by === 'role' ? { ...line, role: line.name } : line));
  return (
    <>
      <Budget
        conversation={conversation}
        total={sums.total}
        roles={byName(bill.roles.items)}
        held={bill.held}
        limit={limit}
      />
      <Stats conversation={conversation} bill={bill} calls={calls} />
      <section>
        <Groupings by={by} />
        <CostTable
          key={by}
          heading={title(by)}
          lines={lines}
          total={sums.total}
          calls={calls}
          nameOf={(line) => <Name conversation={conversation} by={by} line={line} />}
        />
      </section>
    </>
  );
}

const title = (by: By): string => by.charAt(0).toUpperCase() + by.slice(1);

/** What the figures are split by. It is in the address. */
function Groupings({ by }: { by: By }) {
  return (
    <nav aria-label="Split by" className="mb-2 flex items-center gap-3">
      <h2 className="font-semibold text-md">By {by}</h2>
      <span className="flex-1" />
      <span className="flex gap-0.5 rounded-md border bg-sunken p-0.5">
        {groupings.map((each) => (
          <Link
            key={each}
            to="."
            replace
            search={((before: CostSearch) => ({ ...before, by: each })) as never}
            aria-current={each === by ? 'true' : undefined}
            className={cx(
              'flex h-7 items-center rounded-[5px] px-2.5 text-xs pointer-coarse:h-11',
              each === by ? 'bg-active font-medium text-fg' : 'text-fg-2 hover:text-fg',
            )}
          >
            {title(each)}
          </Link>
        ))}
      </span>
    </nav>
  );
}

function Name({ conversation, by, line }: { conversation: string; by: By; line: Line }) {
  const subject = useConversation(conversation, (state) => {
    const agent = line.agent === undefined ? undefined : state.agents.get(line.agent);
    return agent ? subjectOf(state, agent) : '';
  });
  if (by === 'model')
    return <span className="block truncate px-3 font-mono text-xs">{line.name}</span>;
  return (
    <span
      className="flex min-w-0 items-center gap-2"
      style={{ paddingLeft: 12 + line.depth * 18 }}
      title={subject}
    >
      <RoleTile roleId={line.role ?? ''} />
      <span className="truncate">
        <span className="font-medium">
          {line.role ? roleName(line.role) : (line.agent ?? line.name)}
        </span>{' '}
        {by === 'turn' && <span>{line.name} </span>}
        <span className="text-fg-3">{subject}</span>
      </span>
    </span>
  );
}

function Stats({ conversation, bill, calls }: { conversation: string; bill: Bill; calls: number }) {
  const { agents, from, to } = useConversation(conversation, summaryOf);
  const { total } = bill.sums;
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-4 border-y py-4 sm:grid-cols-4">
      <Stat name="Input tokens" sub={`${Math.round(cachedShare(total) * 100)}% from cache`}>
        {tokens(total.input)}
      </Stat>
      <Stat
        name="Output tokens"
        sub={total.reasoning > 0 ? `${tokens(total.reasoning)} of them reasoning` : undefined}
      >
        {tokens(total.output)}
      </Stat>
      <Stat name="Model calls" sub={plural(agents, 'agent')}>
        {calls}
      </Stat>
      <Stat name="Wall time">{from ? <Duration from={from} to={to} /> : '—'}</Stat>
    </dl>
  );
}

function Stat({
  name,
  sub,
  children,
}: {
  name: string;
  sub?: string | undefined;
  children: ReactNode;
}) {
  return (
    <div>
      <dt className="text-fg-3 text-xs">{name}</dt>
      <dd className="tnum font-semibold text-lg">{children}</dd>
      {sub && <dd className="text-fg-3 text-xs">{sub}</dd>}
    </div>
  );
}
