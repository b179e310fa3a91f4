import { type FormEvent, useState } from 'react';
import { listRoles } from '../../api/reads';
import { useRead } from '../../api/useread';
import { Button } from '../../ui/button';
import { Choice, Field } from '../../ui/field';
import { roleName } from '../../ui/role';
import { shownOf, wordOf } from '../../ui/status';
import { type RunsSearch, statuses } from './filter';

const words = statuses.filter((status) => status !== 'pending');

const wordFor = (status: (typeof statuses)[number]): string =>
  status === 'waiting' ? 'Waiting for a person' : wordOf(shownOf({ status }));

/** What narrows the list. It stands in the address. */
export function Filters({
  search,
  onChange,
}: {
  search: RunsSearch;
  onChange: (part: Partial<Record<keyof RunsSearch, unknown>>) => void;
}) {
  const roles = useRead('roles', (signal) => listRoles({}, { signal })).value?.items ?? [];
  const [by, setBy] = useState(search.by ?? '');
  const [cost, setCost] = useState(search.cost === undefined ? '' : String(search.cost));
  const names = [
    ...new Set([...roles.map((role) => role.name), ...(search.role ? [search.role] : [])]),
  ];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange({ by: by.trim(), cost: cost.trim() });
  };
  const typed = () => {
    if (by.trim() !== (search.by ?? '') || cost.trim() !== String(search.cost ?? '')) {
      onChange({ by: by.trim(), cost: cost.trim() });
    }
  };
  return (
    <form aria-label="Filters" onSubmit={submit} className="mt-4 flex flex-wrap items-end gap-3">
      <Choice
        label="Status"
        value={search.status ?? ''}
        onChange={(event) => onChange({ status: event.target.value })}
      >
        <option value="">Any</option>
        {words.map((status) => (
          <option key={status} value={status}>
            {wordFor(status)}
          </option>
        ))}
      </Choice>
      <Choice
        label="Role"
        value={search.role ?? ''}
        onChange={(event) => onChange({ role: event.target.value })}
      >
        <option value="">Any</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {roleName(name)}
          </option>
        ))}
      </Choice>
      <Field
        label="Owner"
        value={by}
        onChange={(event) => setBy(event.target.value)}
        onBlur={typed}
        placeholder="Anyone"
        className="w-36"
      />
      <Field
        label="Cost at least, in $"
        type="number"
        min="0"
        step="0.01"
        inputMode="decimal"
        value={cost}
        onChange={(event) => setCost(event.target.value)}
        onBlur={typed}
        placeholder="0"
        className="w-32"
      />
      <button type="submit" className="sr-only">
        Apply
      </button>
      {Object.keys(search).length > 0 && (
        <Button look="ghost" onClick={() => onChange({ status: '', role: '', by: '', cost: '' })}>
          Clear
        </Button>
      )}
    </form>
  );
}
