import { Square } from 'lucide-react';
import { useCallback, useEffect, useState } from 'react';
import { cancel } from '../../api/commands';
import { useStopAll } from '../../shell/stopall';
import { isBusy } from '../../store/chat';
import { useConversation } from '../../store/hooks';
import { announce } from '../../ui/announcer';
import { plural } from '../../ui/format';
import { toastError } from '../../ui/toast';

/** How long the second Esc is waited for. */
const ARMED = 2_000;

/** Stops one task and all below it. It says so until the server says that they have stopped. */
export function StopTask({
  conversation,
  task,
  below,
  stopping,
}: {
  conversation: string;
  task: string;
  below: number;
  stopping: boolean;
}) {
  const [asked, setAsked] = useState(false);
  if (stopping || asked) return <span className="px-1.5">Stopping…</span>;
  const stop = () => {
    setAsked(true);
    void cancel(conversation, task).then(
      () => announce('The agent is being stopped.', 'assertive'),
      (error: unknown) => {
        setAsked(false);
        toastError(error);
      },
    );
  };
  return (
    <button
      type="button"
      onClick={stop}
      className="touch inline-flex h-6 items-center gap-1 rounded-sm px-1.5 hover:bg-active hover:text-fg"
    >
      <Square className="size-3" aria-hidden="true" />
      {below > 0 ? `Stop this agent and ${plural(below, 'sub-agent')}` : 'Stop'}
    </button>
  );
}

/** Stopping everything by the composer's button, or by Esc twice while nothing is being written. */
export function useEscapeStop(conversation: string, empty: boolean) {
  const busy = useConversation(conversation, isBusy);
  const { stopping: told, stop: stopAll } = useStopAll(conversation);
  const [armed, setArmed] = useState(false);
  const stopping = busy && told;

  const stop = useCallback(() => {
    setArmed(false);
    stopAll();
  }, [stopAll]);

  useEffect(() => {
    if (!armed) return;
    const timer = setTimeout(() => setArmed(false), ARMED);
    return () => clearTimeout(timer);
  }, [armed]);

  useEffect(() => {
    if (!busy || stopping || !empty) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
      if (event.repeat || document.querySelector('dialog[open], [role="menu"], [role="listbox"]')) {
        return;
      }
      if (armed) return stop();
      setArmed(true);
      announce('Press Escape again to stop everything.');
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [busy, stopping, empty, armed, stop]);

  return { busy, stopping, armed, stop };
}
