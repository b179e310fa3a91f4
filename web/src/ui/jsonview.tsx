import { Exact } from './exact';

const wordOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'list';
  if (value === null) return 'nothing';
  return { string: 'text', boolean: 'yes or no' }[typeof value as string] ?? typeof value;
};

/** Names and values with their types, as they are: nothing is folded away, nothing is hidden. */
export function JsonView({ value }: { value: Record<string, unknown> | readonly unknown[] }) {
  const entries = Object.entries(value);
  if (entries.length === 0) return <span className="text-fg-3">empty</span>;
  return (
    <dl className="min-w-0 space-y-1">
      {entries.map(([name, each]) => (
        <Entry key={name} name={name} value={each} />
      ))}
    </dl>
  );
}

function Entry({ name, value }: { name: string; value: unknown }) {
  const nested = typeof value === 'object' && value !== null;
  return (
    <div className="min-w-0">
      <dt className="float-left mr-2 text-fg-3">
        <Exact text={name} />
        <span className="text-2xs"> {wordOf(value)}</span>
      </dt>
      <dd className="wrap-anywhere min-w-0 whitespace-pre-wrap font-mono text-fg">
        {nested ? (
          <div className="clear-left border-l pl-3">
            <JsonView value={value as Record<string, unknown>} />
          </div>
        ) : (
          <Exact text={String(value)} />
        )}
      </dd>
    </div>
  );
}
