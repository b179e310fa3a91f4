import type { Settings } from '../../api/installation';
import { EmptyState } from '../../ui/small';
import { Layer, Section } from './parts';
import { QuotaBars } from './quotas';

const titles: Record<string, string> = {
  fallbacks: 'Fallbacks',
  models: 'Models',
  permissions: 'Permissions',
  roles: 'Roles',
  serve: 'Server limits',
  worker: 'Worker limits',
};

/** Settings by the first word of their key, in the order in which they come. */
export function byPart(items: Settings['items']): [string, Settings['items']][] {
  const parts = new Map<string, Settings['items']>();
  for (const item of items) {
    const part = item.key.split('.')[0] ?? '';
    parts.set(part, [...(parts.get(part) ?? []), item]);
  }
  return [...parts];
}

/** Budgets, limits and rules, each with the layer that its value came from. */
export function Limits({ settings }: { settings: Settings }) {
  if (settings.items.length === 0) return <EmptyState title="No limits are set" />;
  return (
    <>
      <QuotaBars />
      <p className="mb-6 max-w-prose text-fg-2 text-sm">
        Per-role limits are on the role’s page. These apply to the whole installation; change them
        in its settings files or with --set.
      </p>
      {byPart(settings.items).map(([part, items]) => (
        <Section key={part} title={titles[part] ?? part}>
          <div className="overflow-hidden rounded-lg border bg-surface">
            <table className="w-full table-fixed text-sm">
              <thead className="text-left text-fg-3 text-xs">
                <tr className="border-b">
                  <th scope="col" className="px-4 py-2 font-medium">
                    Setting
                  </th>
                  <th scope="col" className="px-4 py-2 font-medium">
                    Value
                  </th>
                  <th scope="col" className="px-4 py-2 font-medium">
                    From
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((item) => (
                  <tr key={item.key} className="border-b last:border-0">
                    <th
                      scope="row"
                      className="break-words px-4 py-1.5 text-left font-mono font-normal text-xs"
                    >
                      {item.key}
                    </th>
                    <td className="tnum break-all px-4 py-1.5">{item.value}</td>
                    <td className="px-4 py-1.5">
                      <Layer layer={item.layer} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Section>
      ))}
    </>
  );
}
