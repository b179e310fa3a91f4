import { CircleCheck, CircleX, Clock } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button, type ButtonProps } from '../../ui/button';
import { cx } from '../../ui/classes';
import { useNow } from '../../ui/clock';
import { Exact } from '../../ui/exact';
import { clockTime, duration } from '../../ui/format';
import { roleName } from '../../ui/role';
import type { Outcome } from './outcome';

/** A card: what scrolls, and below it what stays in reach. */
export function Card({ children, actions }: { children: ReactNode; actions: ReactNode }) {
  return (
    <>
      <section
        tabIndex={0}
        aria-label="What is asked"
        className="min-h-0 flex-1 space-y-2 overflow-y-auto px-3 pt-2.5 pb-1 -outline-offset-2"
      >
        {children}
      </section>
      <div className="shrink-0 px-3 pt-2 pb-3">{actions}</div>
    </>
  );
}

/** A button that is there from the beginning and acts only when it may. It keeps the focus while it may not. */
export function Decide({ ready, onClick, className, ...rest }: ButtonProps & { ready: boolean }) {
  return (
    <Button
      {...rest}
      aria-disabled={!ready}
      onClick={ready ? onClick : undefined}
      className={cx('aria-disabled:opacity-50', className)}
    />
  );
}

/** Who asks, from the orchestrator down, and until when. */
export function Asker({ roles, until }: { roles: readonly string[]; until: string | undefined }) {
  if (roles.length < 2 && !until) return null;
  return (
    <p className="flex flex-wrap gap-x-2 text-fg-3 text-xs">
      {roles.length > 1 && (
        <span>
          <span className="sr-only">Asked by </span>
          {roles.map(roleName).join(' › ')}
        </span>
      )}
      {until && <Expiry until={until} />}
    </p>
  );
}

function Expiry({ until }: { until: string }) {
  const left = Date.parse(until) - useNow();
  const day =
    left > 20 * 3_600_000
      ? `${new Date(until).toLocaleDateString(undefined, { weekday: 'short', day: 'numeric', month: 'short' })}, `
      : '';
  return (
    <span className="tnum inline-flex items-center gap-1">
      <Clock className="size-3" aria-hidden="true" />
      Expires {day}
      {clockTime(until)}
      {left > 0 && <span aria-hidden="true">(in {duration(Math.max(1000, left))})</span>}
    </span>
  );
}

/** The agent's own words about what it wants. They are its words, not ours. */
export function Why({ role, text }: { role: string; text: string }) {
  return (
    <p className="wrap-anywhere line-clamp-4 text-fg-2 text-sm">
      <span className="text-fg-3">{roleName(role)} says: </span>
      <Exact text={text} />
    </p>
  );
}

const icons = { done: CircleCheck, failed: CircleX, quiet: Clock } as const;

/** What became of it, in place of the buttons. */
export function Ended({
  outcome,
  lead,
  children,
}: {
  outcome: Outcome;
  /** Why the person sees this now. */
  lead?: string | undefined;
  children: ReactNode;
}) {
  const Icon = icons[outcome.tone];
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="min-w-0 flex-1 text-sm">
        {lead && <p className="text-fg-2">{lead}</p>}
        <p data-s={outcome.tone} className="st st-fg flex items-start gap-1.5 font-medium">
          <Icon className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
          {outcome.text}
        </p>
        {outcome.quote && (
          <p className="wrap-anywhere mt-0.5 line-clamp-3 text-fg-2">
            “<Exact text={outcome.quote} />”
          </p>
        )}
      </div>
      {children}
    </div>
  );
}

/** What went wrong, what was kept, what can be done. */
export function Problem({ what, next }: { what: string; next: string }) {
  return (
    <p role="alert" data-s="failed" className="st st-fg mt-2 text-sm">
      {what}. {next}
    </p>
  );
}
