import { useState } from 'react';
import { listRoles } from '../../api/reads';
import type { RoleInfo } from '../../api/types';
import { useRead } from '../../api/useread';
import { SearchField } from '../../ui/field';
import { Page } from '../../ui/page';
import { EmptyState, Skeleton } from '../../ui/small';
import { ReadTrouble } from '../../ui/trouble';
import { RoleCard } from './card';
import { titleOf } from './parts';

export { RolePage } from './role';

// Who talks to people comes first, then who can be delegated to.
const rank = { primary: 0, all: 1, subagent: 1 } as const;

const fits = (role: RoleInfo, words: string): boolean =>
  `${titleOf(role)} ${role.name} ${role.description} ${role.model} ${role.resolved_model} ${role.tools.join(' ')}`
    .toLowerCase()
    .includes(words.toLowerCase());

/** The catalogue: who there is to be asked. */
export function RolesPage() {
  const [words, setWords] = useState('');
  const { value, error, again } = useRead('roles', (signal) => listRoles({}, { signal }));
  const roles = (value?.items ?? [])
    .filter((role) => fits(role, words.trim()))
    .sort((a, b) => rank[a.mode ?? 'all'] - rank[b.mode ?? 'all']);
  return (
    <Page
      title="Roles"
      lead="Each agent is one of these: its own model, prompt, tools and limits."
      tools={
        <SearchField
          label="Find a role"
          value={words}
          onChange={setWords}
          className="w-56 max-sm:w-full"
        />
      }
    >
      {error !== undefined && <ReadTrouble error={error} again={again} />}
      {!value && error === undefined && <Skeleton className="mt-5 h-64" />}
      {value && roles.length === 0 && (
        <EmptyState title="No role fits">
          Names, descriptions, models and tools were searched.
        </EmptyState>
      )}
      <ul className="mt-5 grid gap-3 md:grid-cols-2 xl:grid-cols-3">
        {roles.map((role) => (
          <RoleCard key={role.name} role={role} />
        ))}
      </ul>
    </Page>
  );
}
