import { useEffect, useRef, useState } from 'react';
import { orchestrator } from '../store/selectors';
import { type Trouble, type Watch, watchConversation } from '../transport/watchconversation';

/** A tab that nobody looks at lets go of its connection after this long: a browser has six for all its tabs. */
const HIDDEN = 30_000;

/** Watches a conversation while it is open, and the text of the orchestrator and of the agent that is inspected. */
export function useWatch(id: string, agent: string | undefined): Trouble | undefined {
  const [trouble, setTrouble] = useState<{ id: string; what: Trouble }>();
  const away = useAway();
  const watch = useRef<Watch>(undefined);
  const deltas = agent === undefined ? orchestrator : `${orchestrator},${agent}`;
  const first = useRef(deltas);
  first.current = deltas;
  useEffect(() => {
    if (away || id === '') return;
    const made = watchConversation(id, first.current.split(','), (what) =>
      setTrouble({ id, what }),
    );
    watch.current = made;
    return () => made.close();
  }, [id, away]);
  useEffect(() => watch.current?.setDeltas(deltas.split(',')), [deltas]);
  return trouble?.id === id ? trouble.what : undefined;
}

/** Whether nobody has looked at the tab for a while. */
function useAway(): boolean {
  const [away, setAway] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      if (document.visibilityState === 'visible') setAway(false);
      else timer = setTimeout(() => setAway(true), HIDDEN);
    };
    document.addEventListener('visibilitychange', look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, []);
  return away;
}
