import { Link, useParams } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import type { ReactNode } from 'react';
import { getRole, type Role } from '../../api/installation';
import { ProblemError } from '../../api/problem';
import { useRead } from '../../api/useread';
import { Markdown } from '../../markdown/markdown';
import { duration, money, plural, tokens } from '../../ui/format';
import { Page } from '../../ui/page';
import { RoleTile } from '../../ui/role';
import { EmptyState, Skeleton } from '../../ui/small';
import { ReadTrouble } from '../../ui/trouble';
import { roundTime } from './card';
import { Delegation, modelOf, Tools, titleOf } from './parts';

/** One role: what it is told, what it may do, how it did. */
export function RolePage() {
  const { roleId = '' } = useParams({ strict: false });
  const {
    value: role,
    error,
    again,
  } = useRead(`role ${roleId}`, (signal) => getRole(roleId, { signal }));
  const missing = error instanceof ProblemError && error.status === 404;
  return (
    <Page
      key={roleId}
      title={role ? titleOf(role) : missing ? 'There is no such role' : 'Role'}
      lead={role?.description}
      icon={role && <RoleTile roleId={role.name} size="large" />}
    >
      <Link
        to="/roles"
        className="mt-2 inline-flex h-8 items-center gap-1 text-fg-2 text-sm hover:text-fg"
      >
        <ChevronLeft className="size-4" aria-hidden="true" />
        All roles
      </Link>
      {!role && error === undefined && <Skeleton className="mt-4 h-64" />}
      {missing && (
        <EmptyState title={`No role is called ${roleId}`}>
          Roles are files in .retinue/agents; it may have been renamed or removed.
        </EmptyState>
      )}
      {error !== undefined && !missing && <ReadTrouble error={error} again={again} />}
      {role && <Details role={role} />}
    </Page>
  );
}

function Details({ role }: { role: Role }) {
  return (
    <div className="mt-3 grid gap-6 lg:grid-cols-[minmax(0,1fr)_320px]">
      <section
        aria-labelledby="prompt"
        className="min-w-0 self-start rounded-lg border bg-surface shadow-card"
      >
        <h2 id="prompt" className="border-b px-4 py-2 font-medium text-sm">
          Prompt
        </h2>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard */}
        <div tabIndex={0} className="max-h-[70dvh] overflow-y-auto px-4 py-3 text-sm">
          {role.prompt ? (
            <Markdown text={role.prompt} />
          ) : (
            <p className="text-fg-3">Nothing is said.</p>
          )}
        </div>
      </section>
      <div className="min-w-0 space-y-5">
        <Record role={role} />
        <Model role={role} />
        <Part title="Tools">
          <Tools role={role} />
        </Part>
        <Part title="Limits">
          <LimitTable role={role} />
        </Part>
        <Part title="May delegate to">
          <Strip names={role.delegates} none="Does not delegate" />
        </Part>
        <Part title="Called by">
          <Strip names={role.delegated_by} none="Nobody" />
        </Part>
        <Source role={role} />
      </div>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="mb-1.5 font-medium text-fg-3 text-xs">{title}</h2>
      {children}
    </section>
  );
}

function Strip({ names, none }: { names: readonly string[]; none: string }) {
  return names.length > 0 ? (
    <Delegation names={names} named />
  ) : (
    <p className="text-fg-2 text-sm">{none}</p>
  );
}

/** How it did in the last 30 days. The share is the one large number of the page. */
function Record({ role: { figures } }: { role: Role }) {
  if (!figures) {
    return (
      <Part title="Last 30 days">
        <p className="text-fg-2 text-sm">No runs yet</p>
      </Part>
    );
  }
  const rows = [
    ['Runs', String(figures.runs)],
    ['Median time', duration(figures.median_duration_ms)],
    ['Mean cost', money(figures.mean_cost_micro_usd)],
    [
      'Questions per run',
      figures.questions_per_run.toFixed(figures.questions_per_run < 10 ? 2 : 0),
    ],
  ] as const;
  return (
    <Part title="Last 30 days">
      <p className="tnum font-semibold text-figure tracking-tight">
        {Math.round(figures.succeeded * 100)}%
        <span className="ml-2 font-normal text-fg-2 text-sm tracking-normal">succeeded</span>
      </p>
      <Pairs rows={rows} />
    </Part>
  );
}

function Model({ role }: { role: Role }) {
  const { model, via } = modelOf(role);
  return (
    <Part title="Model">
      <p className="break-all font-mono text-sm">{model}</p>
      {via && <p className="text-fg-2 text-sm">via tier “{via}”</p>}
      {role.origins?.model && <p className="break-all text-fg-3 text-xs">{role.origins.model}</p>}
    </Part>
  );
}

function LimitTable({ role }: { role: Role }) {
  const given: [string, string, number | undefined, (n: number) => string][] = [
    ['max_iterations', 'Steps', role.max_iterations, (n) => plural(n, 'step')],
    ['max_duration_ms', 'Time', role.max_duration_ms, roundTime],
    ['max_cost_micro_usd', 'Cost', role.max_cost_micro_usd, money],
    ['max_tokens', 'Tokens', role.max_tokens, tokens],
    ['max_agents', 'Max sub-agents', role.max_agents, String],
    ['max_depth', 'Depth', role.max_depth, String],
  ];
  const rows = given.flatMap(([, name, value, write]) =>
    value ? [[name, write(value)] as const] : [],
  );
  if (rows.length === 0) return <p className="text-fg-2 text-sm">None of its own</p>;
  return <Pairs rows={rows} />;
}

function Pairs({ rows }: { rows: readonly (readonly [string, string])[] }) {
  return (
    <dl>
      {rows.map(([name, value]) => (
        <div key={name} className="flex justify-between gap-3 border-b py-1 text-sm last:border-0">
          <dt className="text-fg-2">{name}</dt>
          <dd className="tnum">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Source({ role }: { role: Role }) {
  return (
    <Part title="Source">
      <p className="break-all text-sm">{role.source}</p>
      <p className="text-fg-3 text-xs">{role.layer}</p>
      {role.hash && (
        <p className="mt-1 break-all font-mono text-fg-3 text-xs" title={role.hash}>
          {role.hash.slice(0, 16)}
        </p>
      )}
      <p className="mt-1 text-fg-3 text-xs">
        To change it, edit its file. Agents that run keep what they began with.
      </p>
    </Part>
  );
}
