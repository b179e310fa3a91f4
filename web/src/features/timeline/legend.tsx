import type { ReactNode } from 'react';

const swatch = 'h-2.5 w-4 shrink-0 rounded-[3px]';

/** What the bars mean. */
export function Legend() {
  return (
    <ul
      aria-label="Legend"
      className="flex flex-wrap items-center gap-x-4 gap-y-1 text-fg-2 text-xs"
    >
      <Entry name="Model call">
        <span data-hue="262" className={`role role-solid ${swatch}`} />
      </Entry>
      <Entry name="Tool">
        <span data-hue="262" className={`role role-edge border-[1.5px] ${swatch}`} />
      </Entry>
      <Entry name="Waiting for you">
        <span data-s="you" className={`st st-hatch ${swatch}`} />
      </Entry>
      <Entry name="Waiting for sub-agents">
        <span className="wait-line h-px w-4 shrink-0 bg-fg-3" />
      </Entry>
    </ul>
  );
}

function Entry({ name, children }: { name: string; children: ReactNode }) {
  return (
    <li className="flex items-center gap-1.5">
      {children}
      {name}
    </li>
  );
}
