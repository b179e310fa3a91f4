import { Link, type LinkProps, useLocation } from '@tanstack/react-router';
import { Inbox, ListChecks, type LucideIcon, Plus, Search, Settings, Users } from 'lucide-react';
import type { ReactNode } from 'react';
import { openPalette } from '../features/palette/palette';
import { useList } from '../store/hooks';
import { useLink } from '../transport/status';
import { cx } from '../ui/classes';
import { Badge } from '../ui/small';
import { Tooltip } from '../ui/tooltip';
import { Conversations } from './conversations';
import { ActionKeys } from './keys/keycap';
import { Mark } from './mark';
import { ThemeButton } from './theme';

/** Where to go: what waits for you, roles, and the conversations. */
export function Sidebar() {
  const waiting = useList((list) => list.inbox.all().length);
  return (
    <aside aria-label="Sidebar" data-region="sidebar" className="flex h-full flex-col bg-sunken">
      <div className="flex h-12 shrink-0 items-center gap-2 px-3">
        <Mark />
        <span className="flex-1 font-semibold text-md tracking-tight">Retinue</span>
        <Tooltip label="New conversation">
          <Link
            to="/new"
            aria-label="New conversation"
            className="grid size-8 place-items-center rounded-md text-fg-2 hover:bg-hover hover:text-fg"
          >
            <Plus className="size-4" aria-hidden="true" />
          </Link>
        </Tooltip>
      </div>
      <nav aria-label="Main" className="space-y-0.5 px-2">
        <button
          type="button"
          onClick={openPalette}
          className="mb-1.5 flex h-8 w-full items-center gap-2.5 rounded-md border border-line-control bg-surface px-2 text-fg-3 text-sm hover:text-fg"
        >
          <Search className="size-3.5" aria-hidden="true" />
          Search
          <span className="ml-auto">
            <ActionKeys action="palette.open" />
          </span>
        </button>
        <NavItem to="/inbox" icon={Inbox} label="Needs you">
          {waiting > 0 && (
            <Badge tone="you">
              {waiting}
              <span className="sr-only"> waiting</span>
            </Badge>
          )}
        </NavItem>
        <NavItem to="/roles" icon={Users} label="Roles" />
        <NavItem to="/runs" icon={ListChecks} label="Runs" />
        <NavItem to="/settings" icon={Settings} label="Settings" />
      </nav>
      <Conversations />
      <footer className="flex shrink-0 items-center gap-2 border-t px-3 py-1.5 text-fg-3 text-xs">
        <LinkState />
        <span className="flex-1" />
        <ThemeButton />
      </footer>
    </aside>
  );
}

function NavItem({
  to,
  icon: Icon,
  label,
  children,
}: {
  to: NonNullable<LinkProps['to']>;
  icon: LucideIcon;
  label: string;
  children?: ReactNode;
}) {
  const here = useLocation().pathname.startsWith(to);
  return (
    <Link
      to={to}
      aria-current={here ? 'page' : undefined}
      className={cx(
        'flex h-8 items-center gap-2.5 rounded-md px-2 text-sm pointer-coarse:h-11',
        here ? 'bg-active font-medium text-fg' : 'text-fg-2 hover:bg-hover hover:text-fg',
      )}
    >
      <Icon className="size-4" aria-hidden="true" />
      <span className="flex-1">{label}</span>
      {children}
    </Link>
  );
}

const words = { connecting: 'Connecting…', live: 'Live', lost: 'Offline' } as const;
const tones = { connecting: 'quiet', live: 'done', lost: 'failed' } as const;

function LinkState() {
  const { state } = useLink();
  return (
    <>
      <span data-s={tones[state]} className="st st-solid size-2 rounded-full" aria-hidden="true" />
      {words[state]}
    </>
  );
}
