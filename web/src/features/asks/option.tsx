import { cx } from '../../ui/classes';
import { Exact } from '../../ui/exact';
import { Kbd } from '../../ui/small';

const recommended = /\s*[([](?:recommended|suggested|default)[)\]]\s*$/i;

/** An option's words, and whether who wrote it says that it is the one to take. */
export function optionOf(option: string): { label: string; hint: string; suggested: boolean } {
  const suggested = recommended.test(option);
  const text = suggested ? option.replace(recommended, '') : option;
  const [label = '', ...hint] = text.split('\n');
  return { label, hint: hint.join('\n').trim(), suggested };
}

/** One of the answers that an agent offers. A suggestion is marked, never picked. */
export function Option({
  group,
  number,
  label,
  hint,
  suggested,
  picked,
  onPick,
}: {
  group: string;
  number: number;
  label: string;
  hint: string;
  suggested: boolean;
  picked: boolean;
  onPick: () => void;
}) {
  return (
    <label
      className={cx(
        'flex cursor-pointer items-start gap-2.5 rounded-lg border px-3 py-2 has-focus-visible:outline-2 has-focus-visible:outline-accent has-focus-visible:outline-offset-2 pointer-coarse:min-h-11',
        picked ? 'border-accent bg-accent-soft' : 'bg-surface hover:bg-hover',
      )}
    >
      <input
        type="radio"
        name={group}
        checked={picked}
        onChange={onPick}
        className="mt-1 size-3.5 accent-(--accent) outline-none"
      />
      <span className="min-w-0 flex-1">
        <span className="wrap-anywhere flex flex-wrap items-center gap-x-2 font-medium text-sm">
          <Exact text={label} />
          {suggested && <span className="font-normal text-accent text-xs">The agent’s guess</span>}
        </span>
        {hint && (
          <span className="block text-fg-2 text-xs">
            <Exact text={hint} />
          </span>
        )}
      </span>
      {number <= 9 && <Kbd>{number}</Kbd>}
    </label>
  );
}
