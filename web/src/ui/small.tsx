import type { ReactNode } from 'react';
import { cx } from './classes';
import { money } from './format';

/** The name of a key. */
export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="inline-grid h-[18px] min-w-[18px] place-items-center rounded-[4px] border border-line-strong/70 bg-surface px-1 font-sans text-2xs leading-none text-fg-3">
      {children}
    </kbd>
  );
}

/** What a status means for its colour. Amber, which is "you", is for what waits for a person and nothing else. */
export type Tone = 'quiet' | 'running' | 'you' | 'done' | 'failed' | 'limit';

/** A short word or number in a pill. */
export function Badge({ tone = 'quiet', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      data-s={tone}
      className="st st-line st-bg st-fg tnum inline-flex h-[18px] items-center rounded-full border px-1.5 font-medium text-xs"
    >
      {children}
    </span>
  );
}

/** How much of a limit is used. */
export function Meter({
  value,
  max,
  label,
  text,
}: {
  value: number;
  max: number;
  label: string;
  /** The same in words, such as "$1.29 of $5". */
  text: string;
}) {
  const percent = max > 0 ? Math.min(100, (value / max) * 100) : 0;
  return (
    <div className="min-w-0 flex-1">
      <div className="flex items-baseline justify-between gap-2 text-xs">
        <span className="text-fg-3">{label}</span>
        <span className="tnum truncate text-fg-2">{text}</span>
      </div>
      <progress
        aria-label={label}
        aria-valuetext={text}
        max={100}
        value={percent}
        data-s={percent > 80 ? 'limit' : 'running'}
        className="st meter mt-1 block h-1 w-full"
      />
    </div>
  );
}

/** An amount. Where a price is not known it says that it is an estimate, and where none is known that there is none. */
export function Money({ micro, unpriced = 0 }: { micro: number; unpriced?: number }) {
  if (micro === 0 && unpriced > 0) return <span className="text-fg-3">no price</span>;
  return (
    <span className="tnum">
      {money(micro)}
      {unpriced > 0 && <span className="text-fg-3"> estimate</span>}
    </span>
  );
}

/** Says that there is nothing, why, and what to do. */
export function EmptyState({
  title,
  page,
  children,
  action,
}: {
  title: string;
  /** Whether it is all that the page has, so that its title is the page's. */
  page?: boolean;
  children?: ReactNode;
  action?: ReactNode;
}) {
  const Heading = page ? 'h1' : 'h2';
  return (
    <div className="mx-auto flex max-w-sm flex-col items-center gap-2 px-6 py-16 text-center">
      <Heading className="font-semibold text-md">{title}</Heading>
      {children && <p className="text-fg-2 text-sm">{children}</p>}
      {action}
    </div>
  );
}

/** A place for what is being read. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden="true" data-loading className={cx('rounded-md bg-hover', className)} />;
}
