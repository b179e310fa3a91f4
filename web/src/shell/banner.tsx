import { CloudOff } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { retryNow, useLink } from '../transport/status';
import { announce } from '../ui/announcer';
import { Button } from '../ui/button';
import { useNow } from '../ui/clock';

/** Says that the connection is lost, and what that means: agents go on, and nothing is missed. */
export function ConnectionBanner() {
  const { state, retryAt } = useLink();
  const lost = useRef(false);
  useEffect(() => {
    if (state === 'lost' && !lost.current) {
      announce('Connection lost. Agents keep running on the server.', 'assertive');
    }
    if (state === 'live' && lost.current) announce('Connected again.');
    if (state !== 'connecting') lost.current = state === 'lost';
  }, [state]);
  if (state !== 'lost') return null;
  return (
    <div
      data-s="failed"
      className="st st-bg st-line flex items-center gap-2 border-b px-4 py-1.5 text-sm sm:px-5"
    >
      <CloudOff className="st-fg size-4 shrink-0" aria-hidden="true" />
      <span className="min-w-0 flex-1">
        <span className="font-medium">Connection lost.</span>{' '}
        <span className="text-fg-2">Agents keep running on the server; you’ll catch up.</span>
      </span>
      {retryAt !== undefined && <Countdown to={retryAt} />}
      <Button size="small" onClick={retryNow}>
        Retry now
      </Button>
    </div>
  );
}

function Countdown({ to }: { to: number }) {
  const seconds = Math.ceil((to - useNow()) / 1000);
  return (
    <span aria-hidden="true" className="tnum text-fg-2 text-xs max-sm:hidden">
      {seconds > 0 ? `Retrying in ${seconds}s` : 'Retrying…'}
    </span>
  );
}
