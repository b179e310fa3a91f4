import { useNavigate, useParams } from '@tanstack/react-router';
import {
  ChartGantt,
  Hand,
  Inbox,
  Keyboard,
  ListChecks,
  type LucideIcon,
  MessageCircleQuestion,
  MessageSquare,
  Plus,
  Settings,
  Square,
  SunMoon,
  Text,
  Users,
  Wallet,
} from 'lucide-react';
import { useMemo } from 'react';
import { cancel } from '../../api/commands';
import type { Schemas } from '../../api/types';
import { ActionKeys } from '../../shell/keys/keycap';
import { otherTheme, setTheme } from '../../shell/theme';
import { useConversation, useList } from '../../store/hooks';
import type { InboxRow } from '../../store/list';
import { isOver } from '../../store/selectors';
import { announce } from '../../ui/announcer';
import { RoleTile, roleName } from '../../ui/role';
import { toastError } from '../../ui/toast';
import { openShortcuts } from '../shortcuts/shortcuts';
import type { Entry } from './entries';

const icon = (Icon: LucideIcon, tone?: 'you') => (
  <span {...(tone ? { 'data-s': tone } : {})} className={tone ? 'st st-fg' : 'text-fg-3'}>
    <Icon className="size-4" aria-hidden="true" />
  </span>
);

type Navigate = ReturnType<typeof useNavigate>;

function asks(rows: readonly InboxRow[], titles: Map<string, string>, navigate: Navigate): Entry[] {
  return rows.map((row) => {
    const ask = row.approval?.id ?? row.question?.id ?? '';
    const what = row.approval ? 'needs approval' : 'has a question';
    const subject = row.approval?.tool ?? row.question?.text ?? '';
    return {
      id: `ask ${row.id}`,
      group: 'Needs you',
      text: `${roleName(row.role)} ${what}`,
      more: [subject, titles.get(row.conversation)].filter(Boolean).join(' · '),
      icon: icon(row.approval ? Hand : MessageCircleQuestion, 'you'),
      run: () => void navigate({ to: '/c/$id', params: { id: row.conversation }, search: { ask } }),
    };
  });
}

function commands(here: string | undefined, busy: boolean, navigate: Navigate): Entry[] {
  const one = (id: string, text: string, Icon: LucideIcon, run: () => void, more = ''): Entry => ({
    id: `command ${id}`,
    group: 'Commands',
    text,
    icon: icon(Icon),
    run,
    ...(more ? { more } : {}),
  });
  const theme = otherTheme();
  const own = here
    ? [
        one(
          'timeline',
          'Timeline of this conversation',
          ChartGantt,
          () => void navigate({ to: '/c/$id/timeline', params: { id: here } }),
        ),
        one(
          'cost',
          'Cost of this conversation',
          Wallet,
          () => void navigate({ to: '/c/$id/cost', params: { id: here } }),
        ),
      ]
    : [];
  const stop = one(
    'stop',
    'Stop all agents of this conversation',
    Square,
    () =>
      void cancel(here ?? '').then(
        () => announce('Everything is being stopped.', 'assertive'),
        toastError,
      ),
  );
  return [
    one('new', 'New conversation', Plus, () => void navigate({ to: '/new' })),
    one('inbox', 'Needs you', Inbox, () => void navigate({ to: '/inbox' }), 'inbox'),
    ...own,
    ...(here && busy ? [stop] : []),
    one('roles', 'Roles', Users, () => void navigate({ to: '/roles' })),
    one('runs', 'Runs', ListChecks, () => void navigate({ to: '/runs' }), 'tasks'),
    one('settings', 'Settings', Settings, () => void navigate({ to: '/settings' })),
    one('theme', `Switch to ${theme} theme`, SunMoon, () => setTheme(theme)),
    {
      ...one('shortcuts', 'Keyboard shortcuts', Keyboard, openShortcuts),
      keys: <ActionKeys action="shortcuts.open" />,
    },
  ];
}

/** All that the palette can offer just now, without what the server finds. */
export function useEntries(): Entry[] {
  const navigate = useNavigate();
  const { id: here } = useParams({ strict: false });
  const inbox = useList((list) => list.inbox.all());
  const rows = useList((list) => list.conversations.all());
  const agents = useConversation(here ?? '', (state) => state.agents.all());
  const tasks = useConversation(here ?? '', (state) => state.tasks.all());
  return useMemo(() => {
    const titles = new Map(rows.map((row) => [row.id, row.title]));
    const titleOf = new Map(tasks.map((task) => [task.id, task.title ?? '']));
    const oldest = [...inbox].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
    const latest = [...rows].sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at));
    const busy = tasks.some((task) => !isOver(task));
    return [
      ...asks(oldest, titles, navigate),
      ...agents
        .filter((agent) => agent.parent)
        .map(
          (agent): Entry => ({
            id: `agent ${agent.id}`,
            group: 'Agents',
            text: roleName(agent.role),
            more: titleOf.get(agent.task) ?? '',
            icon: <RoleTile roleId={agent.role} size="small" />,
            run: () =>
              void navigate({
                to: '/c/$id',
                params: { id: here ?? '' },
                search: { agent: agent.id },
              }),
          }),
        ),
      ...latest.map(
        (row): Entry => ({
          id: `conversation ${row.id}`,
          group: 'Conversations',
          text: row.title || 'Untitled',
          icon: icon(MessageSquare),
          run: () => void navigate({ to: '/c/$id', params: { id: row.id } }),
        }),
      ),
      ...commands(here, busy, navigate),
    ];
  }, [inbox, rows, agents, tasks, here, navigate]);
}

/** What the server found in what was said. */
export function messageEntries(hits: readonly Schemas['Hit'][], navigate: Navigate): Entry[] {
  return hits.map((hit) => ({
    id: `message ${hit.conversation} ${hit.seq}`,
    group: 'Messages',
    text: hit.text.replaceAll(/\s+/g, ' ').trim(),
    icon: icon(Text),
    run: () =>
      void navigate({
        to: '/c/$id',
        params: { id: hit.conversation },
        search: hit.agent && hit.agent !== 'main' ? { agent: hit.agent } : {},
      }),
  }));
}
