import { File } from 'lucide-react';
import { cx } from '../../ui/classes';
import { RoleTile } from '../../ui/role';
import type { Choice } from './completion';

/** What may be mentioned. The focus stays in the text; the keys there move through the list. */
export function Choices({
  id,
  choices,
  active,
  onPick,
}: {
  id: string;
  choices: readonly Choice[];
  active: number;
  onPick: (choice: Choice) => void;
}) {
  return (
    <div
      id={id}
      role="listbox"
      aria-label="Roles and files"
      className="absolute inset-x-0 bottom-full z-20 mb-1 overflow-hidden rounded-lg border border-line-strong bg-surface p-1 shadow-pop"
    >
      {choices.map((choice, index) => (
        <div
          key={`${choice.kind} ${choice.value}`}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          onPointerDown={(event) => {
            // The text keeps the focus.
            event.preventDefault();
            onPick(choice);
          }}
          className={cx(
            'flex min-h-8 cursor-default items-center gap-2 rounded-md px-2 text-sm pointer-coarse:min-h-11',
            index === active && 'bg-hover',
          )}
        >
          {choice.kind === 'role' ? (
            <RoleTile roleId={choice.value} size="small" />
          ) : (
            <File className="size-4 shrink-0 text-fg-3" aria-hidden="true" />
          )}
          <span className="shrink-0 font-medium">{choice.label}</span>
          <span className="min-w-0 truncate text-fg-3">{choice.detail}</span>
        </div>
      ))}
    </div>
  );
}
