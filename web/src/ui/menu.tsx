import { DropdownMenu } from 'radix-ui';
import type { ReactElement } from 'react';
import { cx } from './classes';
import type { MenuItem } from './menuitem';

/** The menu of a button that was pressed: open when it appears. The button must take a ref. */
export function Menu({ button, items }: { button: ReactElement; items: readonly MenuItem[] }) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{button}</DropdownMenu.Trigger>
      {/* In the page's main part, so that nothing lies outside its landmarks. */}
      <DropdownMenu.Portal container={document.getElementById('main')}>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          className="z-50 min-w-44 rounded-lg border border-line-strong bg-surface p-1 text-sm shadow-pop"
        >
          {items.map(({ name, onSelect, danger, disabled, content }) => (
            <DropdownMenu.Item
              key={name}
              disabled={disabled ?? false}
              onSelect={onSelect}
              {...(danger ? { 'data-s': 'failed' } : {})}
              className={cx(
                'flex h-8 cursor-default items-center gap-2 rounded-md px-2 outline-none select-none data-disabled:opacity-50 data-highlighted:bg-hover pointer-coarse:h-11',
                danger && 'st st-fg',
              )}
            >
              {content}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
