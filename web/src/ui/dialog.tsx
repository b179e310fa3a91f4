import { X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { IconButton } from './button';
import { cx } from './classes';

interface Props {
  open: boolean;
  onClose: () => void;
  title: string;
  /** Whether the title is for screen readers only. */
  quietTitle?: boolean;
  children: ReactNode;
  className?: string;
}

/** A modal window: the browser's own, which needs no style of its own in the page. Focus goes to its title. */
export function Dialog(props: Props) {
  return (
    <Modal
      {...props}
      className={cx(
        'm-auto max-h-[85dvh] w-[min(560px,calc(100vw-32px))] rounded-xl border border-line-strong shadow-pop',
        props.className,
      )}
    />
  );
}

/** A modal at an edge of the screen: the drawer with the conversations, the inspector on a phone. */
export function Sheet({ side = 'right', ...props }: Props & { side?: 'left' | 'right' }) {
  return (
    <Modal
      {...props}
      className={cx(
        'my-0 h-dvh max-h-none',
        side === 'left'
          ? 'mr-auto ml-0 w-[284px] border-r'
          : 'mr-0 ml-auto w-full sm:w-[520px] sm:border-l',
        props.className,
      )}
    />
  );
}

function Modal({ open, onClose, title, quietTitle, children, className }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const titled = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog || !open) return;
    const before = document.activeElement;
    dialog.showModal();
    // Where a window is for typing, the text has the focus at once.
    const start = dialog.querySelector<HTMLElement>('[data-start]');
    (start ?? document.getElementById(titled))?.focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, [open, titled]);
  if (!open) return null;
  return (
    <dialog
      ref={ref}
      aria-labelledby={titled}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === ref.current && onClose()}
      onKeyDown={(event) => event.stopPropagation()}
      className={cx('max-w-none overflow-hidden bg-bg p-0 text-fg backdrop:bg-black/40', className)}
    >
      <div className="flex h-full max-h-[inherit] flex-col">
        <header
          className={cx('flex h-12 shrink-0 items-center border-b px-4', quietTitle && 'sr-only')}
        >
          <h2 id={titled} tabIndex={-1} className="flex-1 text-md font-semibold outline-none">
            {title}
          </h2>
          <IconButton label="Close" onClick={onClose}>
            <X className="size-4" aria-hidden="true" />
          </IconButton>
        </header>
        <div className="min-h-0 flex-1 overflow-y-auto">{children}</div>
      </div>
    </dialog>
  );
}
