import { useCallback, useEffect, useRef, useState } from 'react';
import { listRuns, type Run } from '../../api/installation';
import { useList } from '../../store/hooks';
import { asQuery, type RunsSearch } from './filter';

const PAGE = 100;
/** How long the list rests after something changed, so that a busy server is not asked all the time. */
const REST = 2_000;

/** A task is known by its conversation and its id. */
export const runKey = (run: Pick<Run, 'conversation' | 'id'>): string =>
  `${run.conversation} ${run.id}`;

/** Puts the newest page in front of what was read before; a run that is in both is taken from the new one. */
export function mergeRuns(before: readonly Run[], fresh: readonly Run[]): Run[] {
  const known = new Set(fresh.map(runKey));
  return [...fresh, ...before.filter((run) => !known.has(runKey(run)))];
}

/** What an older page has that is not known yet. */
export function beyond(before: readonly Run[], older: readonly Run[]): Run[] {
  const known = new Set(before.map(runKey));
  return older.filter((run) => !known.has(runKey(run)));
}

interface State {
  key: string;
  rows: readonly Run[];
  cursor?: string | undefined;
  ready: boolean;
  error?: unknown;
}

/** The runs that fit a search, newest first, page by page. They are read again when conversations change. */
export function useRuns(search: RunsSearch) {
  const key = JSON.stringify(search);
  const blank: State = { key, rows: [], ready: false };
  const [state, setState] = useState<State>(blank);
  const [turn, setTurn] = useState(0);
  const reading = useRef(false);
  const now = state.key === key ? state : blank;
  const stir = useList((list) => list.conversations.all().reduce((sum, row) => sum + row.seq, 0));

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is the search, the turn a wish to read again
  useEffect(() => {
    const ended = new AbortController();
    listRuns({ ...asQuery(search), limit: PAGE }, { signal: ended.signal }).then(
      ({ items, cursor }) =>
        setState((old) => {
          if (old.key !== key || old.rows.length <= PAGE)
            return { key, rows: items, cursor, ready: true };
          return { ...old, rows: mergeRuns(old.rows, items), error: undefined };
        }),
      (error) =>
        !ended.signal.aborted && setState((old) => ({ ...(old.key === key ? old : blank), error })),
    );
    return () => ended.abort();
  }, [key, turn]);

  const again = useCallback(() => setTurn((before) => before + 1), []);
  const first = useRef(stir);
  useEffect(() => {
    if (first.current === stir) return;
    first.current = stir;
    const timer = setTimeout(again, REST);
    return () => clearTimeout(timer);
  }, [stir, again]);

  const more = async () => {
    if (reading.current || now.cursor === undefined) return;
    reading.current = true;
    try {
      const page = await listRuns({ ...asQuery(search), limit: PAGE, cursor: now.cursor });
      setState((old) =>
        old.key === key
          ? { ...old, rows: [...old.rows, ...beyond(old.rows, page.items)], cursor: page.cursor }
          : old,
      );
    } catch (error) {
      setState((old) => (old.key === key ? { ...old, error } : old));
    } finally {
      reading.current = false;
    }
  };
  return { ...now, again, more };
}
