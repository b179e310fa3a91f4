import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { getSettings, type Settings } from '../../api/installation';
import { getMe } from '../../api/reads';
import { useRead } from '../../api/useread';
import { cx } from '../../ui/classes';
import { Page } from '../../ui/page';
import { EmptyState, Skeleton } from '../../ui/small';
import { ReadTrouble } from '../../ui/trouble';
import { NotifySwitch } from '../asks/notifyswitch';
import { Appearance } from './appearance';
import { ArchiveList } from './archive';
import { Keys } from './keys';
import { Limits } from './limits';
import { Members } from './members';
import { Section } from './parts';
import { Providers } from './providers';
import { ShortcutSettings } from './shortcuts';

const names = {
  providers: 'Providers',
  limits: 'Budgets and limits',
  keys: 'API keys',
  members: 'Members',
  theme: 'Theme',
  shortcuts: 'Shortcuts',
  notifications: 'Notifications',
  archive: 'Archive',
} as const;

type PartName = keyof typeof names;

/** How the installation is set up, and how this browser shows it. */
export function SettingsPage() {
  const { part = 'providers' } = useParams({ strict: false });
  const settings = useRead('settings', (signal) => getSettings({ signal }));
  const hosted = settings.value?.mode === 'hosted';
  const parts = (Object.keys(names) as PartName[]).filter(
    (name) => hosted || (name !== 'keys' && name !== 'members'),
  );
  const known = part in names;
  return (
    <Page title="Settings">
      <div className="mt-5 gap-8 md:flex">
        <nav
          aria-label="Settings"
          className="mb-5 flex shrink-0 gap-1 overflow-x-auto md:w-44 md:flex-col"
        >
          {parts.map((name) => (
            <Link
              key={name}
              to="/settings/$part"
              params={{ part: name }}
              aria-current={part === name ? 'page' : undefined}
              className={cx(
                'flex h-8 shrink-0 items-center rounded-md px-2.5 text-sm pointer-coarse:h-11',
                part === name ? 'bg-active font-medium' : 'text-fg-2 hover:bg-hover hover:text-fg',
              )}
            >
              {names[name]}
            </Link>
          ))}
        </nav>
        <div className="min-w-0 flex-1">
          {known ? (
            <Part name={part as PartName} settings={settings} />
          ) : (
            <EmptyState title="There is no such part of the settings" />
          )}
        </div>
      </div>
    </Page>
  );
}

type ReadSettings = ReturnType<typeof useRead<Settings>>;

function Part({ name, settings }: { name: PartName; settings: ReadSettings }) {
  switch (name) {
    case 'archive':
      return <ArchiveList />;
    case 'theme':
      return <Appearance />;
    case 'shortcuts':
      return <ShortcutSettings />;
    case 'notifications':
      return (
        <Section
          title="Notifications"
          lead="Get a browser notification when something needs you and this tab is not visible."
        >
          <NotifySwitch />
        </Section>
      );
    case 'providers':
      return (
        <FromServer settings={settings}>{(value) => <Providers settings={value} />}</FromServer>
      );
    case 'limits':
      return <FromServer settings={settings}>{(value) => <Limits settings={value} />}</FromServer>;
    case 'keys':
    case 'members':
      return (
        <FromServer settings={settings}>
          {(value) =>
            value.mode === 'hosted' ? (
              <People name={name} />
            ) : (
              <EmptyState title="Single-user installation">
                It has no members and needs no keys.
              </EmptyState>
            )
          }
        </FromServer>
      );
  }
}

function FromServer({
  settings: { value, error, again },
  children,
}: {
  settings: ReadSettings;
  children: (settings: Settings) => ReactNode;
}) {
  if (value) return children(value);
  if (error !== undefined) return <ReadTrouble error={error} again={again} />;
  return <Skeleton className="h-64" />;
}

function People({ name }: { name: 'keys' | 'members' }) {
  const { value: me } = useRead('me', (signal) => getMe({ signal }));
  if (name === 'keys') return <Keys />;
  return me ? (
    <Members owner={me.role === 'owner'} self={me.user} />
  ) : (
    <Skeleton className="h-24" />
  );
}
