import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { cx } from '../../ui/classes';

/** A line in a frame that opens to all of what it stands for. */
export function FoldRow({
  line,
  open,
  toggle,
  bare,
  children,
}: {
  line: ReactNode;
  open: boolean;
  toggle: () => void;
  /** Whether it stands in a frame already. */
  bare?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={cx(!bare && 'rounded-lg border bg-surface')}>
      <button
        type="button"
        aria-expanded={open}
        onClick={toggle}
        className="flex min-h-8 w-full items-center gap-2 rounded-lg px-2.5 text-left text-sm hover:bg-hover/60 pointer-coarse:min-h-11"
      >
        {line}
        <ChevronRight
          className={cx(
            'size-3.5 shrink-0 text-fg-3 transition-transform duration-150',
            open && 'rotate-90',
          )}
          aria-hidden="true"
        />
      </button>
      {open && children}
    </div>
  );
}
