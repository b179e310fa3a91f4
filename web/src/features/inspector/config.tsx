import { explain } from '../../api/problem';
import type { Schemas } from '../../api/types';
import { EmptyState, Skeleton } from '../../ui/small';
import { promptOf, valuesOf } from './configvalues';
import { Output } from './output';
import { Section } from './section';

/** How an agent was set up when it began, and where each value came from. */
export function ConfigView({
  detail,
  error,
}: {
  detail: Schemas['AgentView'] | undefined;
  error: unknown;
}) {
  if (!detail) {
    if (error === undefined) return <Skeleton className="m-4 h-40" />;
    const { what, next } = explain(error);
    return <EmptyState title={what}>{next}</EmptyState>;
  }
  const { config } = detail;
  if (config?.role === undefined) {
    return <EmptyState title="The role was not kept">Its configuration is not known.</EmptyState>;
  }
  const prompt = promptOf(config.role);
  return (
    <div className="space-y-5 px-4 py-4">
      <p className="text-fg-2 text-sm">
        {config.current
          ? `Current definition of ${detail.role}${config.source ? ` (${config.source})` : ''}.`
          : `As ${detail.role} was when the agent began. The role’s files say something else by now, so where its values came from is not known.`}
      </p>
      <Section title="Values">
        <div className="overflow-x-auto rounded-lg border bg-surface">
          <table className="w-full text-sm">
            <thead className="sr-only">
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Value</th>
                <th scope="col">Comes from</th>
              </tr>
            </thead>
            <tbody className="divide-y">
              {valuesOf(config.role, config.current ? (config.origins ?? {}) : undefined).map(
                ({ label, value, origin }) => (
                  <tr key={label} className="align-top">
                    <th
                      scope="row"
                      className="whitespace-nowrap px-3 py-1.5 text-left font-normal text-fg-3"
                    >
                      {label}
                    </th>
                    <td className="whitespace-pre-line break-words py-1.5 pr-3">{value}</td>
                    <td
                      title={origin}
                      className="whitespace-nowrap py-1.5 pr-3 text-right font-mono text-fg-3 text-xs leading-5"
                    >
                      {origin.split('/').at(-1)}
                    </td>
                  </tr>
                ),
              )}
            </tbody>
          </table>
        </div>
      </Section>
      {prompt && (
        <Section title="Prompt of the role">
          <Output text={prompt} label={config.source ?? 'Prompt'} />
        </Section>
      )}
    </div>
  );
}
