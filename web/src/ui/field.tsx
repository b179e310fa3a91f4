import { Search } from 'lucide-react';
import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes } from 'react';
import { cx } from './classes';

const look =
  'h-8 rounded-md border border-line-control bg-surface px-2.5 text-sm text-fg pointer-coarse:h-11';

/** A text to type, with its name above it or for screen readers only. */
export function Field({
  label,
  quiet,
  hint,
  className,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { label: string; quiet?: boolean; hint?: ReactNode }) {
  return (
    <label className={cx('flex flex-col gap-1 text-sm', className)}>
      <span className={quiet ? 'sr-only' : 'text-fg-2 text-xs'}>{label}</span>
      <input className={cx(look, 'w-full placeholder:text-fg-3')} {...rest} />
      {hint && <span className="text-fg-3 text-xs">{hint}</span>}
    </label>
  );
}

/** One of a few. The browser's own. */
export function Choice({
  label,
  quiet,
  className,
  ...rest
}: SelectHTMLAttributes<HTMLSelectElement> & { label: string; quiet?: boolean }) {
  return (
    <label className={cx('flex flex-col gap-1 text-sm', className)}>
      <span className={quiet ? 'sr-only' : 'text-fg-2 text-xs'}>{label}</span>
      <select className={cx(look, 'pr-7')} {...rest} />
    </label>
  );
}

/** A text that narrows a list. */
export function SearchField({
  label,
  value,
  onChange,
  className,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  className?: string;
}) {
  return (
    <label
      className={cx(
        'flex h-8 items-center gap-2 rounded-md border border-line-control bg-surface px-2.5 text-fg-3 focus-within:border-accent focus-within:outline-2 focus-within:outline-accent/40 pointer-coarse:h-11',
        className,
      )}
    >
      <Search className="size-3.5 shrink-0" aria-hidden="true" />
      <input
        type="search"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder={label}
        aria-label={label}
        className="w-full min-w-0 bg-transparent text-fg text-sm outline-none placeholder:text-fg-3"
      />
    </label>
  );
}
