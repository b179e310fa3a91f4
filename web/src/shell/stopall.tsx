import { Square } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import { cancel } from '../api/commands';
import type { ConversationState } from '../store/conversation';
import { useConversation } from '../store/hooks';
import { isOver } from '../store/selectors';
import { isStoppingAll } from '../store/stopping';
import { announce } from '../ui/announcer';
import { IconButton } from '../ui/button';
import { cx } from '../ui/classes';
import { toastError } from '../ui/toast';

const isAtWork = (state: ConversationState): boolean =>
  state.tasks.all().some((task) => !isOver(task));

/** Stops everything. It is stopping from the request until the server says that all of it has come to rest. */
export function useStopAll(conversation: string): { stopping: boolean; stop: () => void } {
  const told = useConversation(conversation, isStoppingAll);
  const atWork = useConversation(conversation, isAtWork);
  const [asked, setAsked] = useState(false);
  // What begins after everything has come to rest is not being stopped.
  useEffect(() => {
    if (!atWork) setAsked(false);
  }, [atWork]);
  const stop = useCallback(() => {
    setAsked(true);
    void cancel(conversation)
      .then(() => announce('Everything is being stopped.', 'assertive'), toastError)
      // By then the store knows of the request, or of the end.
      .finally(() => setTimeout(() => setAsked(false), 1_000));
  }, [conversation]);
  return { stopping: told || asked, stop };
}

export function StopAllButton({
  stop,
  stopping,
  label,
  hint,
  className,
  ...rest
}: {
  stop: () => void;
  stopping: boolean;
  label: string;
  hint?: ReactNode;
  outlined?: boolean;
  disabled?: boolean;
  className?: string;
}) {
  return (
    <IconButton
      label={stopping ? 'Stopping…' : label}
      hint={hint}
      aria-disabled={stopping}
      onClick={stopping ? undefined : stop}
      className={cx('aria-disabled:opacity-60', className)}
      {...rest}
    >
      <Square className="size-3.5" aria-hidden="true" />
    </IconButton>
  );
}

/** The header's way to stop everything. It says so until everything has stopped. */
export function StopAll({ id }: { id: string }) {
  const busy = useConversation(id, isAtWork);
  const { stopping, stop } = useStopAll(id);
  return (
    <span className="flex shrink-0 items-center">
      {busy && stopping && (
        <span className="hidden text-fg-3 text-xs sm:inline" aria-hidden="true">
          Stopping…
        </span>
      )}
      <StopAllButton
        label="Stop all agents"
        stop={stop}
        stopping={busy && stopping}
        disabled={!busy}
      />
    </span>
  );
}
