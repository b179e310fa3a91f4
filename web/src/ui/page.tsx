import { type ReactNode, useEffect, useRef } from 'react';
import { cx } from './classes';

/** A page that scrolls by itself. Coming to it puts the focus on its title. */
export function Page({
  title,
  lead,
  icon,
  tools,
  wide,
  fill,
  children,
}: {
  title: string;
  lead?: ReactNode;
  /** A picture before the title. */
  icon?: ReactNode;
  tools?: ReactNode;
  wide?: boolean;
  /** Whether what is in it scrolls, and not the page. */
  fill?: boolean;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    document.title = `${title} · Retinue`;
  }, [title]);
  return (
    <div data-region="conversation" className="flex min-h-0 flex-1 flex-col overflow-y-auto">
      <div
        className={cx(
          'mx-auto w-full px-4 py-6 max-lg:pt-14 sm:px-6',
          wide ? 'max-w-[1440px]' : 'max-w-[1120px]',
          fill && 'flex min-h-[28rem] flex-1 flex-col pb-0',
        )}
      >
        <header className="flex flex-wrap items-end gap-3">
          {icon}
          <div className="min-w-60 flex-1">
            <h1
              ref={heading}
              tabIndex={-1}
              className="font-semibold text-xl tracking-tight outline-none"
            >
              {title}
            </h1>
            {lead && <p className="text-fg-2 text-sm">{lead}</p>}
          </div>
          {tools}
        </header>
        {children}
      </div>
    </div>
  );
}
