import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { cx } from './classes';
import { Tooltip } from './tooltip';

type Native = ButtonHTMLAttributes<HTMLButtonElement>;

export interface ButtonProps extends Native {
  look?: 'primary' | 'outline' | 'ghost' | 'danger';
  size?: 'small' | 'medium';
}

/** A button that says what it does. */
export function Button({
  look = 'outline',
  size = 'medium',
  className,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      className={cx(
        'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap transition-colors duration-100 disabled:opacity-50 pointer-coarse:min-h-11',
        size === 'medium' ? 'h-8 px-3 text-sm' : 'h-7 px-2.5 text-xs',
        look === 'primary' && 'bg-ink text-on-ink hover:opacity-88',
        look === 'outline' && 'border border-line-strong bg-surface text-fg hover:bg-hover',
        look === 'ghost' && 'text-fg-2 hover:bg-hover hover:text-fg',
        look === 'danger' && 'st st-line st-fg border bg-surface hover:bg-hover',
        className,
      )}
      {...(look === 'danger' ? { 'data-s': 'failed' } : {})}
      {...rest}
    />
  );
}

export interface IconButtonProps extends Native {
  /** What it does, for the tooltip and for screen readers. */
  label: string;
  /** Shown beside the label, such as its key. */
  hint?: ReactNode;
  outlined?: boolean;
}

/** A button that is an icon only. Its label is in a tooltip. */
export function IconButton({
  label,
  hint,
  outlined,
  className,
  type = 'button',
  ...rest
}: IconButtonProps) {
  return (
    <Tooltip
      label={
        <>
          {label} {hint}
        </>
      }
    >
      <button
        type={type}
        aria-label={label}
        className={cx(
          'grid size-8 shrink-0 place-items-center rounded-md text-fg-2 transition-colors duration-100 hover:bg-hover hover:text-fg disabled:opacity-40 pointer-coarse:size-11',
          outlined && 'border border-line-strong',
          className,
        )}
        {...rest}
      />
    </Tooltip>
  );
}
