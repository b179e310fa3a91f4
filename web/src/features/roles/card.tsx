import { Link } from '@tanstack/react-router';
import { ArrowRight, Clock, Coins, type LucideIcon, Repeat } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Role } from '../../api/installation';
import { duration, money, plural } from '../../ui/format';
import { RoleTile } from '../../ui/role';
import { Delegation, modelOf, Tools, titleOf } from './parts';

/** One role in the catalogue. */
export function RoleCard({ role }: { role: Role }) {
  const { model, via } = modelOf(role);
  return (
    <li className="relative flex min-w-0 flex-col rounded-lg border bg-surface p-4 shadow-card hover:border-line-strong">
      <div className="flex items-start gap-3">
        <RoleTile roleId={role.name} size="large" />
        <div className="min-w-0 flex-1">
          <h2 className="truncate font-semibold text-md">
            <Link
              to="/roles/$roleId"
              params={{ roleId: role.name }}
              className="after:absolute after:inset-0 after:rounded-lg"
            >
              {titleOf(role)}
            </Link>
          </h2>
          <p className="truncate font-mono text-fg-3 text-xs">
            {model}
            {via && <span className="font-sans"> · {via}</span>}
          </p>
        </div>
        {role.layer && role.layer !== 'built-in' && (
          <span className="rounded-full border px-1.5 text-fg-2 text-xs">{role.layer}</span>
        )}
      </div>
      <p className="mt-2.5 line-clamp-3 min-h-10 text-fg-2 text-sm">{role.description}</p>
      <div className="mt-3">
        <Tools role={role} most={8} />
      </div>
      <Limits role={role} />
      <div className="relative mt-3 mb-3 flex min-h-6 items-center gap-1.5 text-fg-3 text-xs">
        {role.delegates.length > 0 ? (
          <>
            <ArrowRight className="size-3.5 shrink-0" aria-hidden="true" />
            <span className="shrink-0">may delegate to</span> <Delegation names={role.delegates} />
          </>
        ) : (
          'Does not delegate'
        )}
      </div>
      <Figures role={role} />
    </li>
  );
}

function Limit({
  icon: Icon,
  name,
  children,
}: {
  icon: LucideIcon;
  name: string;
  children: ReactNode;
}) {
  return (
    <div className="flex items-center gap-1">
      <dt>
        <Icon className="size-3.5 text-fg-3" aria-hidden="true" />
        <span className="sr-only">{name}</span>
      </dt>
      <dd className="tnum">{children}</dd>
    </div>
  );
}

/** How far a role may go: the three limits that people ask about. */
function Limits({ role }: { role: Role }) {
  const { max_iterations: steps, max_duration_ms: time, max_cost_micro_usd: cost } = role;
  if (!steps && !time && !cost)
    return <p className="mt-3 text-fg-3 text-xs">No limits of its own</p>;
  return (
    <dl className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-fg-2 text-xs">
      {!!steps && (
        <Limit icon={Repeat} name="Steps">
          {plural(steps, 'step')}
        </Limit>
      )}
      {!!time && (
        <Limit icon={Clock} name="Time">
          {roundTime(time)}
        </Limit>
      )}
      {!!cost && (
        <Limit icon={Coins} name="Cost">
          {money(cost)}
        </Limit>
      )}
    </dl>
  );
}

/** Limits are round: 5 min rather than 5m 00s. */
export function roundTime(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`;
  if (ms % 60_000 === 0) return `${ms / 60_000} min`;
  return duration(ms);
}

function Figures({ role: { figures } }: { role: Role }) {
  return (
    <div className="tnum mt-auto flex flex-wrap items-center justify-between gap-x-3 border-t pt-2.5 text-fg-3 text-xs">
      {figures ? (
        <>
          <span>
            {plural(figures.runs, 'run')} in 30 days · {Math.round(figures.succeeded * 100)}%
            succeed
          </span>
          <span>
            {duration(figures.median_duration_ms)} · {money(figures.mean_cost_micro_usd)}
          </span>
        </>
      ) : (
        'No runs in 30 days'
      )}
    </div>
  );
}
