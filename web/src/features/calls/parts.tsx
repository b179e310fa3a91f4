import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { explain } from '../../api/problem';
import { useConversation } from '../../store/hooks';
import { agentById } from '../../store/selectors';
import { RoleTile, roleName } from '../../ui/role';
import { EmptyState, Skeleton } from '../../ui/small';

/** Which call it is and whose. The agent's name opens its inspector. */
export function CallHeading({
  conversation,
  agent,
  title,
  children,
}: {
  conversation: string;
  agent: string;
  title: ReactNode;
  children?: ReactNode;
}) {
  const role = useConversation(conversation, (state) => agentById(state, agent)?.role ?? '');
  return (
    <header className="flex flex-wrap items-center gap-2.5">
      <RoleTile roleId={role} size="large" />
      <div className="min-w-0 flex-1">
        <h2 className="break-words font-semibold text-lg">{title}</h2>
        <p className="text-fg-3 text-xs">
          <Link
            to="/c/$id"
            params={{ id: conversation }}
            search={{ agent }}
            className="rounded-sm hover:text-fg hover:underline"
          >
            {role ? roleName(role) : agent}
          </Link>{' '}
          · {agent}
        </p>
      </div>
      {children}
    </header>
  );
}

/** Figures beside each other. Those that are not known are left out. */
export function Figures({ of }: { of: readonly (readonly [string, string | undefined])[] }) {
  return (
    <dl className="flex flex-wrap gap-x-6 gap-y-2 rounded-lg border bg-surface px-3 py-2">
      {of
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([label, value]) => (
          <div key={label} className="min-w-0">
            <dt className="text-fg-3 text-xs">{label}</dt>
            <dd className="tnum break-words text-sm">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Unread({ error }: { error: unknown }) {
  if (error === undefined) return <Skeleton className="h-64" />;
  const { what, next } = explain(error);
  return <EmptyState title={what}>{next}</EmptyState>;
}
