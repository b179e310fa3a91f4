import { useNavigate } from '@tanstack/react-router';
import { ChevronDown, ChevronUp, Search, X } from 'lucide-react';
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react';
import { explain } from '../../api/problem';
import { store } from '../../store/store';
import { announce } from '../../ui/announcer';
import { IconButton } from '../../ui/button';
import { highlight } from './highlight';
import { findLoaded, findStored, joined } from './search';

/** A word is not looked for before it has stood for this long. */
const PAUSE = 180;

/** Where a person writes what they look for, and goes from one place to the next. */
export function FindBar({ conversation, onClose }: { conversation: string; onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState('');
  const { hits, problem } = useHits(conversation, query);
  const [at, setAt] = useState(-1);
  const navigate = useNavigate();
  const before = useRef<Element | null>(null);

  useEffect(() => {
    before.current = document.activeElement;
    field.current?.focus();
    return () => {
      highlight('');
      if (before.current instanceof HTMLElement) before.current.focus();
    };
  }, []);
  useEffect(() => highlight(query), [query]);

  const go = useCallback(
    (to: number) => {
      if (hits.length === 0) return;
      const next = (to + hits.length) % hits.length;
      setAt(next);
      announce(`${next + 1} of ${hits.length}`);
      void navigate({ to: '.', search: true, hash: `m-${hits[next]}`, replace: true } as never);
    },
    [hits, navigate],
  );
  // The last one is nearest to where people read.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another search begins anew
  useEffect(() => {
    setAt(-1);
  }, [query]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      onClose();
    }
    if (event.key !== 'Enter') return;
    event.preventDefault();
    if (at < 0) go(hits.length - 1);
    else go(event.shiftKey ? at + 1 : at - 1);
  };
  return (
    <search className="flex h-11 shrink-0 items-center gap-2 border-b bg-surface px-3">
      <Search className="size-4 shrink-0 text-fg-3" aria-hidden="true" />
      <input
        ref={field}
        data-find
        type="text"
        value={query}
        aria-label="Find in this conversation"
        placeholder="Find in this conversation"
        onChange={(event) => setQuery(event.target.value)}
        onKeyDown={onKeyDown}
        className="min-w-0 flex-1 bg-transparent text-sm outline-none placeholder:text-fg-3"
      />
      <span className="tnum shrink-0 text-fg-3 text-xs" aria-live="polite">
        {problem || (query && (hits.length === 0 ? 'Nothing found' : position(at, hits.length)))}
      </span>
      <IconButton label="Earlier" onClick={() => go(at < 0 ? hits.length - 1 : at - 1)}>
        <ChevronUp className="size-4" aria-hidden="true" />
      </IconButton>
      <IconButton label="Later" onClick={() => go(at + 1)}>
        <ChevronDown className="size-4" aria-hidden="true" />
      </IconButton>
      <IconButton label="Close" onClick={onClose}>
        <X className="size-4" aria-hidden="true" />
      </IconButton>
    </search>
  );
}

const position = (at: number, count: number): string =>
  at < 0 ? `${count} found` : `${at + 1} of ${count}`;

/** Where the words are: what is in the page at once, what is not as soon as the server says. */
function useHits(conversation: string, query: string) {
  const [found, setFound] = useState<{ hits: number[]; problem: string }>({
    hits: [],
    problem: '',
  });
  useEffect(() => {
    const loaded = findLoaded(store.conversation(conversation), query);
    setFound({ hits: loaded, problem: '' });
    if (!query.trim()) return;
    const ended = new AbortController();
    const timer = setTimeout(() => {
      findStored(conversation, query.trim(), ended.signal).then(
        (stored) => setFound({ hits: joined(loaded, stored), problem: '' }),
        (error: unknown) => {
          if (!ended.signal.aborted) setFound({ hits: loaded, problem: explain(error).what });
        },
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [conversation, query]);
  return found;
}
