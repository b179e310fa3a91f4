import { ChevronDown, ChevronLeft, ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { useConversation } from '../../store/hooks';
import type { Ask } from '../../store/selectors';
import { agentById } from '../../store/selectors';
import { cx } from '../../ui/classes';
import { Duration } from '../../ui/clock';
import { Exact } from '../../ui/exact';
import { RoleTile, roleName } from '../../ui/role';
import type { Shown } from './hold';
import { wishOf } from './subject';

const agentOf = (ask: Ask): string =>
  ask.kind === 'approval' ? ask.approval.agent : ask.question.agent;

export const isOpen = (ask: Ask): boolean =>
  ask.kind === 'approval' ? ask.approval.status === 'open' : ask.question.status !== 'closed';

/** Who wants what, how long it waits, and the way to the others. */
export function DockHead({
  conversation,
  shown,
  minimised,
  onMinimise,
  onMove,
}: {
  conversation: string;
  shown: Shown;
  minimised: boolean;
  onMinimise: () => void;
  onMove: (step: 1 | -1) => void;
}) {
  const { ask, place, listed } = shown;
  const role = useConversation(conversation, (state) => agentById(state, agentOf(ask))?.role ?? '');
  const one = listed.length < 2;
  return (
    <header
      className={cx(
        'st-bg st-line flex shrink-0 items-center gap-2 py-1.5 pr-1.5 pl-3',
        !minimised && 'border-b',
      )}
    >
      <RoleTile roleId={role} />
      <div className="min-w-0 flex-1 sm:flex sm:items-baseline sm:gap-2">
        <h2 className="line-clamp-2 min-w-0 flex-1 text-sm sm:line-clamp-1">
          <Wish role={role} ask={ask} />
        </h2>
        {isOpen(ask) && (
          <p className="shrink-0 text-fg-2 text-xs">
            waiting <Duration from={ask.at} />
          </p>
        )}
      </div>
      <span className="flex shrink-0 items-center">
        <Step label="Previous request" off={one} onClick={() => onMove(-1)}>
          <ChevronLeft className="size-4" aria-hidden="true" />
        </Step>
        <span className="tnum px-0.5 text-fg-2 text-xs">
          {place} of {listed.length}
        </span>
        <Step label="Next request" off={one} onClick={() => onMove(1)}>
          <ChevronRight className="size-4" aria-hidden="true" />
        </Step>
        <Step
          label={minimised ? 'Show request' : 'Minimise request'}
          expanded={!minimised}
          onClick={onMinimise}
        >
          <ChevronDown
            className={cx('size-4 transition-transform', minimised && 'rotate-180')}
            aria-hidden="true"
          />
        </Step>
      </span>
    </header>
  );
}

/** "Coder wants to run a shell command." */
export function Wish({ role, ask }: { role: string; ask: Ask }) {
  return (
    <>
      <span className="font-medium">{roleName(role)}</span>{' '}
      <span className="text-fg-2">
        {ask.kind === 'question' ? (
          'has a question'
        ) : (
          <>
            wants to <Exact text={wishOf(ask.approval.tool)} />
          </>
        )}
      </span>
    </>
  );
}

function Step({
  label,
  off = false,
  expanded,
  onClick,
  children,
}: {
  label: string;
  off?: boolean;
  expanded?: boolean;
  onClick: () => void;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      aria-label={label}
      aria-expanded={expanded}
      disabled={off}
      onClick={onClick}
      className="grid size-7 place-items-center rounded-sm text-fg-2 hover:bg-surface disabled:opacity-35 pointer-coarse:size-9"
    >
      {children}
    </button>
  );
}
