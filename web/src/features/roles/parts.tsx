import { Link } from '@tanstack/react-router';
import { Ban, Hand } from 'lucide-react';
import type { Role } from '../../api/installation';
import { cx } from '../../ui/classes';
import { RoleTile, roleName } from '../../ui/role';

type Asks = Role['tool_rules'][number]['asks'];

const words: Record<Asks, string> = {
  never: '',
  sometimes: ' sometimes asks first',
  always: ' asks first',
  denied: ' is refused',
};

/** A role's tools, each with whether it asks a person first: that is what the amber hand says. */
export function Tools({ role, most }: { role: Role; most?: number }) {
  const rules = new Map(role.tool_rules.map((rule) => [rule.tool, rule.asks]));
  const shown = role.tools.slice(0, most ?? role.tools.length);
  const rest = role.tools.length - shown.length;
  if (role.tools.length === 0) return <p className="text-fg-3 text-xs">No tools</p>;
  return (
    <ul className="flex flex-wrap gap-1" aria-label="Tools">
      {shown.map((tool) => (
        <Tool key={tool} tool={tool} asks={rules.get(tool) ?? 'never'} />
      ))}
      {rest > 0 && <li className="px-1 text-fg-3 text-xs leading-[22px]">{rest} more</li>}
    </ul>
  );
}

function Tool({ tool, asks }: { tool: string; asks: Asks }) {
  const hand = asks === 'always' || asks === 'sometimes';
  return (
    <li
      {...(hand ? { 'data-s': 'you' } : {})}
      className={cx(
        'inline-flex h-[22px] max-w-full items-center gap-1 rounded-md border px-1.5 font-mono text-2xs',
        hand ? 'st st-bg st-line st-fg' : 'bg-bg text-fg-2',
        asks === 'denied' && 'line-through',
      )}
    >
      {hand && <Hand className="size-3 shrink-0" aria-hidden="true" />}
      {asks === 'denied' && <Ban className="size-3 shrink-0" aria-hidden="true" />}
      <span className="truncate">{tool}</span>
      {asks === 'sometimes' && <span aria-hidden="true">?</span>}
      {words[asks] && <span className="sr-only">{words[asks]}</span>}
    </li>
  );
}

/** The roles that a role may ask for help, or that may ask it: their tiles, which lead to them. */
export function Delegation({ names, named }: { names: readonly string[]; named?: boolean }) {
  return (
    <ul className="flex flex-wrap gap-1">
      {names.map((name) => (
        <li key={name}>
          <Link
            to="/roles/$roleId"
            params={{ roleId: name }}
            {...(named ? {} : { 'aria-label': roleName(name), title: roleName(name) })}
            className={cx(
              'flex h-6 items-center gap-1.5 rounded-md text-sm hover:bg-hover',
              named ? 'px-1 pointer-coarse:h-11' : 'w-6 justify-center',
            )}
          >
            <RoleTile roleId={name} size="small" />
            {named && roleName(name)}
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** What a role is called for people. */
export const titleOf = (role: Pick<Role, 'name' | 'title'>): string =>
  role.title || roleName(role.name);

/** The model that a role gets here, and how it is named. */
export function modelOf(role: Role): { model: string; via: string } {
  const named = role.model || 'inherit';
  const model = role.resolved_model ?? '';
  if (named === 'inherit') return { model: model || 'that of the agent that delegates', via: '' };
  if (!model) return { model: `${named}, which is not configured`, via: '' };
  return model === named ? { model, via: '' } : { model, via: named };
}
