import { ArrowDown } from 'lucide-react';
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { plural } from '../../ui/format';
import type { List } from './list';
import type { Row } from './row';

interface Left {
  atEnd: boolean;
  offset: number;
  sizes: ReturnType<List['takeSnapshot']>;
}

/** Where the reader was when they went to another view of the same conversation. */
const left = new Map<string, Left>();

/** Keeps the reader at the end while they are there, and counts what came since they left it. */
export function useEnd(
  conversation: string,
  list: List,
  rows: readonly Row[],
  box: RefObject<HTMLDivElement | null>,
) {
  const [away, setAway] = useState(false);
  const follows = useRef(true);
  const told = useRef(true);
  const seen = useRef(0);
  const begun = useRef(false);
  const newest = useMemo(() => rows.reduce((most, row) => Math.max(most, counted(row)), 0), [rows]);

  useLayoutEffect(() => {
    if (begun.current || rows.length === 0) return;
    begun.current = true;
    if (location.hash.length > 1) return;
    const before = left.get(conversation);
    if (before && !before.atEnd) {
      follows.current = false;
      list.scrollToOffset(before.offset);
    } else list.scrollToEnd();
  }, [rows, list, conversation]);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let height = element.clientHeight;
    const look = () => {
      follows.current = list.isAtEnd();
      // Told the same again, React may still draw the list to find out that nothing has changed.
      if (told.current !== follows.current) setAway(!follows.current);
      told.current = follows.current;
    };
    // The dock and the composer grow and shrink under the list.
    const observer = new ResizeObserver(() => {
      if (element.clientHeight === height) return;
      height = element.clientHeight;
      if (follows.current) list.scrollToEnd();
    });
    element.addEventListener('scroll', look, { passive: true });
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      observer.disconnect();
      const offset = list.scrollOffset ?? 0;
      left.set(conversation, { atEnd: follows.current, offset, sizes: list.takeSnapshot() });
    };
  }, [list, conversation, box]);

  if (!away) seen.current = newest;
  const since = seen.current;
  const news = useMemo(
    () => (away ? rows.filter((row) => counted(row) > since).length : 0),
    [away, rows, since],
  );
  const jump = () => {
    follows.current = true;
    list.scrollToEnd();
    box.current?.focus({ preventScroll: true });
  };
  return { away, news, jump };
}

/** What counts as new: something said, a group of tasks, a note. Not each block, and not the rows of a card. */
function counted(row: Row): number {
  switch (row.kind) {
    case 'posted':
    case 'note':
    case 'end':
    case 'group':
      return row.seq;
    case 'block':
      return row.key.endsWith(' 0.0') ? row.seq : 0;
    case 'task':
      return row.depth === 0 && (row.edge === 'only' || row.edge === 'first') ? row.seq : 0;
    default:
      return 0;
  }
}

export function JumpToLatest({
  news,
  away,
  onJump,
}: {
  news: number;
  away: boolean;
  onJump: () => void;
}) {
  if (!away) return null;
  return (
    <button
      type="button"
      onClick={onJump}
      className="absolute bottom-3 left-1/2 z-10 inline-flex h-8 -translate-x-1/2 items-center gap-1.5 rounded-full border border-line-strong bg-surface px-3 text-fg-2 text-xs shadow-pop hover:text-fg pointer-coarse:h-11"
    >
      <ArrowDown className="size-3.5" aria-hidden="true" />
      Jump to latest
      {news > 0 && <span className="tnum">· {plural(news, 'new', 'new')}</span>}
    </button>
  );
}
