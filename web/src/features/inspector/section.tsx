import type { ReactNode } from 'react';

/** A part of a view, under its title. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-1.5 font-medium text-fg-3 text-xs">{title}</h3>
      {children}
    </section>
  );
}
