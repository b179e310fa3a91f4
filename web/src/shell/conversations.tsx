import { Link, useParams } from '@tanstack/react-router';
import { Lock } from 'lucide-react';
import { memo } from 'react';
import { foremost } from '../store/agentselectors';
import { useConversation, useList } from '../store/hooks';
import type { ListRow } from '../store/list';
import { agentById, childrenOf, latestTask, orchestrator, sidebarGroups } from '../store/selectors';
import { isStopping } from '../store/stopping';
import { cx } from '../ui/classes';
import { useNow } from '../ui/clock';
import { ago } from '../ui/format';
import { RoleTile, roleName } from '../ui/role';
import { EmptyState, Skeleton } from '../ui/small';
import { type Shown, StatusIcon, shownOf, wordOf } from '../ui/status';
import { useSelectedAgent } from './selection';

const titles = { needs: 'Needs you', running: 'Running', earlier: 'Earlier' } as const;

/** All conversations, those that need a person first. */
export function Conversations() {
  const ready = useList((list) => list.ready);
  const rows = useList((list) => list.conversations.all());
  const groups = useList((list) => {
    const { needs, running, earlier } = sidebarGroups(list);
    return JSON.stringify([needs, running, earlier].map((group) => group.map((row) => row.id)));
  });
  if (!ready) return <Skeleton className="m-4 h-24" />;
  if (rows.length === 0) {
    return (
      <div className="flex-1">
        <EmptyState title="No conversations yet" />
      </div>
    );
  }
  const byId = new Map(rows.map((row) => [row.id, row]));
  const [needs = [], running = [], earlier = []] = JSON.parse(groups) as string[][];
  return (
    <nav
      aria-label="Conversations"
      className="mt-3 min-h-0 flex-1 space-y-3 overflow-y-auto px-2 pb-3"
    >
      {Object.entries({ needs, running, earlier }).map(
        ([name, ids]) =>
          ids.length > 0 && (
            <section key={name}>
              <h2 className="px-2 py-1 font-medium text-fg-3 text-xs">
                {titles[name as keyof typeof titles]}
              </h2>
              <ul className="space-y-0.5">
                {ids.map((id) => {
                  const row = byId.get(id);
                  return row && <Item key={id} row={row} />;
                })}
              </ul>
            </section>
          ),
      )}
    </nav>
  );
}

function shownOfRow(row: ListRow): Shown {
  if (row.waiting > 0) return 'waiting_approval';
  return row.running > 0 ? 'running' : (row.last ?? 'completed');
}

const Item = memo(function Item({ row }: { row: ListRow }) {
  const { id } = useParams({ strict: false });
  const here = id === row.id;
  const shown = shownOfRow(row);
  return (
    <li>
      <Link
        to="/c/$id"
        params={{ id: row.id }}
        aria-current={here ? 'page' : undefined}
        className={cx(
          'flex h-8 items-center gap-2 rounded-md px-2 text-sm pointer-coarse:h-11',
          here ? 'bg-active text-fg' : 'text-fg-2 hover:bg-hover hover:text-fg',
        )}
      >
        <StatusIcon shown={shown} />
        <span className="min-w-0 flex-1 truncate">{row.title || 'Untitled'}</span>
        {row.visibility === 'private' && (
          <>
            <Lock className="size-3 shrink-0 text-fg-3" aria-hidden="true" />
            <span className="sr-only">Private</span>
          </>
        )}
        {shown !== 'completed' && (
          <span className="sr-only">{row.waiting > 0 ? 'Needs you' : wordOf(shown)}</span>
        )}
        <When at={row.updated_at} />
      </Link>
      {here && <Agents conversation={row.id} />}
    </li>
  );
});

function When({ at }: { at: string }) {
  return <span className="tnum shrink-0 text-fg-3 text-xs">{ago(at, useNow())}</span>;
}

/** So many agents are shown; the timeline has all of them, however many there are. */
const MOST = 12;

/** The agents of the open conversation that the orchestrator called. */
function Agents({ conversation }: { conversation: string }) {
  const selected = useSelectedAgent();
  const count = useConversation(conversation, (state) => childrenOf(state, orchestrator).length);
  const agents = useConversation(conversation, (state) => foremost(state, MOST, selected));
  if (count === 0) return null;
  return (
    <ul
      aria-label="Agents in this conversation"
      className="my-0.5 ml-[15px] border-line-strong/70 border-l pl-1.5"
    >
      {agents.map((agent) => (
        <AgentItem key={agent.id} conversation={conversation} id={agent.id} />
      ))}
      {count > agents.length && (
        <li>
          <Link
            to="/c/$id/timeline"
            params={{ id: conversation }}
            className="flex h-7 items-center rounded-md px-1.5 text-fg-3 text-xs hover:bg-hover hover:text-fg pointer-coarse:h-11"
          >
            All {count.toLocaleString()} agents
          </Link>
        </li>
      )}
    </ul>
  );
}

function AgentItem({ conversation, id }: { conversation: string; id: string }) {
  const agent = useConversation(conversation, (state) => agentById(state, id));
  const task = useConversation(conversation, (state) => latestTask(state, id));
  const stopping = useConversation(conversation, (state) => !!task && isStopping(state, task));
  const open = useSelectedAgent() === id;
  if (!agent || !task) return null;
  const shown = shownOf(task, { stopping });
  return (
    <li>
      <Link
        to="/c/$id"
        params={{ id: conversation }}
        search={{ agent: id }}
        className={cx(
          'flex h-7 items-center gap-2 rounded-md px-1.5 text-xs pointer-coarse:h-11',
          open ? 'bg-active text-fg' : 'text-fg-2 hover:bg-hover hover:text-fg',
        )}
      >
        <RoleTile roleId={agent.role} size="small" />
        <span className="min-w-0 flex-1 truncate">
          {roleName(agent.role)} <span className="text-fg-3">{task.instruction}</span>
        </span>
        <span className="sr-only">{wordOf(shown)}</span>
        <StatusIcon shown={shown} className="size-3" />
      </Link>
    </li>
  );
}
