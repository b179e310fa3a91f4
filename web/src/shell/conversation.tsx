import { Link, type LinkProps, Outlet, useLocation } from '@tanstack/react-router';
import { ChartGantt, Lock, type LucideIcon, MessagesSquare, Wallet } from 'lucide-react';
import { lazy, Suspense, useEffect, useRef } from 'react';
import { Within } from '../api/within';
import { AskChip } from '../features/asks/chip';
import { limitOf, summaryOf } from '../store/activity';
import { useConversation } from '../store/hooks';
import { cx } from '../ui/classes';
import { Duration } from '../ui/clock';
import { limitMoney, money, plural } from '../ui/format';
import { ConversationMenu } from './conversationmenu';
import { useConversationId, useSelectedAgent } from './selection';
import { StopAll } from './stopall';
import { Tell } from './tell';
import { ConversationTrouble } from './trouble';
import { useWatch } from './watch';

const InspectorPlace = lazy(() => {
  // Side by side: the one is shown in the other.
  void import('../features/inspector/transcript');
  return import('../features/inspector/place').then((m) => ({ default: m.InspectorPlace }));
});

/** One conversation: its header and views, and the inspector of the agent that the address names. */
export function ConversationFrame() {
  const id = useConversationId();
  const agent = useSelectedAgent();
  const trouble = useWatch(id, agent);
  if (trouble) return <ConversationTrouble trouble={trouble} />;
  return (
    <Within value={id}>
      <div className="flex min-h-0 flex-1">
        <div className="relative flex min-w-0 flex-1 flex-col">
          <Header key={id} id={id} />
          <Tell key={`tell ${id}`} conversation={id} />
          <Outlet />
          <AskChip conversation={id} />
        </div>
        {agent !== undefined && (
          <Suspense>
            <InspectorPlace conversation={id} agent={agent} />
          </Suspense>
        )}
      </div>
    </Within>
  );
}

function Header({ id }: { id: string }) {
  const title = useConversation(id, (state) => state.conversation?.title);
  const isPrivate = useConversation(id, (state) => state.conversation?.visibility === 'private');
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    document.title = title ? `${title} · Retinue` : 'Retinue';
  }, [title]);
  return (
    <header className="flex h-12 shrink-0 items-center gap-3 border-b pr-3 pl-5 max-lg:pl-12">
      <h1
        ref={heading}
        tabIndex={-1}
        className="min-w-0 flex-1 truncate font-semibold text-md outline-none"
      >
        {title || (title === '' ? 'Untitled' : '')}
      </h1>
      {isPrivate && (
        <span
          title="Only you can see this conversation"
          className="flex shrink-0 items-center gap-1 rounded-full border px-2 py-0.5 text-fg-2 text-xs"
        >
          <Lock className="size-3" aria-hidden="true" />
          Private
        </span>
      )}
      <Figures id={id} />
      <nav aria-label="Views" className="flex shrink-0 gap-0.5 rounded-md border bg-sunken p-0.5">
        <View to="/c/$id" id={id} icon={MessagesSquare} label="Chat" />
        <View to="/c/$id/timeline" id={id} icon={ChartGantt} label="Timeline" />
        <View to="/c/$id/cost" id={id} icon={Wallet} label="Cost" />
      </nav>
      <StopAll id={id} />
      <ConversationMenu id={id} />
    </header>
  );
}

/** How many agents, for how long, for how much of what it may cost. */
function Figures({ id }: { id: string }) {
  const { agents, from, to, used } = useConversation(id, summaryOf);
  const limit = useConversation(id, limitOf);
  return (
    <span className="tnum hidden shrink-0 text-fg-3 text-xs md:inline">
      {plural(agents, 'agent')}
      {from && (
        <>
          {' '}
          · <Duration from={from} to={to} />
        </>
      )}{' '}
      · {money(used.cost_micro_usd)}
      {limit ? ` of ${limitMoney(limit)}` : ''}
      {used.unpriced_calls > 0 && ' · estimate'}
    </span>
  );
}

type ViewPath = Extract<LinkProps['to'], '/c/$id' | '/c/$id/timeline' | '/c/$id/cost'>;

function View({
  to,
  id,
  icon: Icon,
  label,
}: {
  to: ViewPath;
  id: string;
  icon: LucideIcon;
  label: string;
}) {
  const here = useLocation().pathname.replace(/\/$/, '') === to.replace('$id', id);
  return (
    <Link
      to={to}
      params={{ id }}
      search={(before: { agent?: string }) =>
        before.agent === undefined ? {} : { agent: before.agent }
      }
      aria-current={here ? 'page' : undefined}
      aria-label={label}
      className={cx(
        'flex h-7 items-center gap-1.5 rounded-[5px] px-2 text-xs',
        here ? 'bg-active font-medium text-fg' : 'text-fg-2 hover:text-fg',
      )}
    >
      <Icon className="size-3.5" aria-hidden="true" />
      <span className="hidden sm:inline">{label}</span>
    </Link>
  );
}
