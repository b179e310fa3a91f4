import type { ReactNode } from 'react';

/** One group of settings under its heading. */
export function Section({
  title,
  lead,
  children,
}: {
  title: string;
  lead?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="mb-8">
      <h2 className="font-semibold text-lg">{title}</h2>
      {lead && <p className="mb-3 max-w-prose text-fg-2 text-sm">{lead}</p>}
      <div className={lead ? '' : 'mt-3'}>{children}</div>
    </section>
  );
}

/** A list in a card. */
export function Rows({ children, label }: { children: ReactNode; label: string }) {
  return (
    <ul aria-label={label} className="divide-y divide-line rounded-lg border bg-surface">
      {children}
    </ul>
  );
}

export function Row({ children }: { children: ReactNode }) {
  return (
    <li className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 text-sm">
      {children}
    </li>
  );
}

const words: Record<string, string> = { default: 'built in' };

/** Where a value came from. */
export function Layer({ layer }: { layer: string }) {
  return <span className="break-all text-fg-3 text-xs">{words[layer] ?? layer}</span>;
}
