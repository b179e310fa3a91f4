import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { explain } from '../../api/problem';
import { listMessages } from '../../api/reads';
import { isWhole } from '../../store/chat';
import { useConversation } from '../../store/hooks';
import { loadMessage } from '../../store/load';
import { chatMessages } from '../../store/selectors';
import { store } from '../../store/store';
import { type List, nearBeginning } from './list';
import type { Row } from './row';

/** How many messages are read at once when somebody scrolls up. */
const PAGE = 100;

export interface Older {
  /** Reads a page of what came before. Says whether there may be more. */
  load: (limit?: number) => Promise<boolean>;
  loading: boolean;
  problem: string;
}

/** Reads what came before when the reader comes near the beginning of what is there. */
export function useOlder(conversation: string, list: List, rows: readonly Row[]): Older {
  const [loading, setLoading] = useState(false);
  const [problem, setProblem] = useState('');
  const under = useRef<Promise<boolean>>(undefined);
  const whole = useConversation(conversation, isWhole);

  const load = useCallback(
    (limit = PAGE): Promise<boolean> => {
      under.current ??= loadPage(conversation, limit)
        .then(
          (more) => {
            setProblem('');
            return more;
          },
          (error: unknown) => {
            setProblem(explain(error).what);
            return false;
          },
        )
        .finally(() => {
          under.current = undefined;
          setLoading(false);
        });
      setLoading(true);
      return under.current;
    },
    [conversation],
  );

  const near = rows.length > 0 && nearBeginning(list) && !whole && !problem;
  useEffect(() => {
    if (near && !loading) void load();
  }, [near, loading, load]);

  return useMemo(() => ({ load, loading, problem }), [load, loading, problem]);
}

async function loadPage(conversation: string, limit: number): Promise<boolean> {
  const state = store.conversation(conversation);
  const oldest = chatMessages(state)[0];
  if (!oldest || isWhole(state)) return false;
  const page = await listMessages(conversation, { before: oldest.seq, limit });
  store.change(() => {
    for (const message of page.items) loadMessage(state, message, message.seq);
  });
  return page.before !== undefined && page.items.length > 0;
}
