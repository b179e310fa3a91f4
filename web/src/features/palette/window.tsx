import { useNavigate } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { search } from '../../api/reads';
import type { Schemas } from '../../api/types';
import { chordOf } from '../../shell/keys/chord';
import { chordFor } from '../../shell/keys/own';
import { cx } from '../../ui/classes';
import { Dialog } from '../../ui/dialog';
import { plural } from '../../ui/format';
import { type Found, find } from './entries';
import { messageEntries, useEntries } from './gather';

const PAUSE = 200;

/** What was said anywhere and holds the words. It is asked for when a person stops typing. */
function useHits(query: string): readonly Schemas['Hit'][] {
  const [hits, setHits] = useState<readonly Schemas['Hit'][]>([]);
  useEffect(() => {
    setHits([]);
    const q = query.trim();
    if (q.length < 3) return;
    const ended = new AbortController();
    const timer = setTimeout(() => {
      search({ q, limit: 6 }, { signal: ended.signal }).then(
        (answer) => setHits(answer.items),
        () => undefined,
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [query]);
  return hits;
}

/** The palette itself: a text, and a list that follows it. The focus stays in the text. */
export function PaletteWindow({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState('');
  const [chosen, setChosen] = useState<string>();
  const navigate = useNavigate();
  const list = useRef<HTMLDivElement>(null);
  const name = useId();
  const entries = useEntries();
  const hits = useHits(query);
  const found = find(query, [...entries, ...messageEntries(hits, navigate)]);
  const index = Math.max(
    0,
    found.findIndex((each) => each.id === chosen),
  );
  const current = found[index];
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  });
  const run = (entry: Found | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const step = steps[event.key];
    if (step !== undefined && found.length > 0) {
      const far = Math.abs(step) > 1;
      const next = far
        ? Math.min(found.length - 1, Math.max(0, index + step))
        : (index + step + found.length) % found.length;
      setChosen(found[next]?.id);
    } else if (event.key === 'Enter') run(current);
    else if (chordOf(event.nativeEvent) === chordFor('palette.open')) onClose();
    else return;
    event.preventDefault();
  };
  return (
    <Dialog
      title="Search"
      quietTitle
      open
      onClose={onClose}
      className="mt-[12dvh] mb-auto w-[min(640px,calc(100vw-32px))]"
    >
      <div className="flex h-full max-h-[70dvh] flex-col">
        <label className="flex h-12 shrink-0 items-center gap-2.5 border-b px-4">
          <Search className="size-4 text-fg-3" aria-hidden="true" />
          <input
            data-start
            role="combobox"
            aria-label="Agents, asks, conversations, commands"
            aria-expanded="true"
            aria-autocomplete="list"
            aria-controls={`${name}-list`}
            aria-activedescendant={current && `${name}-${index}`}
            autoComplete="off"
            spellCheck={false}
            value={query}
            placeholder="Agents, asks, conversations, commands…"
            onChange={(event) => {
              setQuery(event.target.value);
              setChosen(undefined);
            }}
            onKeyDown={onKeyDown}
            className="h-full min-w-0 flex-1 bg-transparent text-md outline-none placeholder:text-fg-3"
          />
        </label>
        <div
          ref={list}
          id={`${name}-list`}
          role="listbox"
          aria-label="Found"
          tabIndex={-1}
          className="min-h-0 flex-1 overflow-y-auto p-1.5"
        >
          {byGroup(found).map(([group, own]) => (
            // biome-ignore lint/a11y/useSemanticElements: a group of options in a listbox is no fieldset
            <div key={group} role="group" aria-labelledby={`${name}-${group}`} className="pb-1">
              <div
                id={`${name}-${group}`}
                role="presentation"
                className="px-2.5 pt-2 pb-1 font-medium text-fg-3 text-xs"
              >
                {group}
              </div>
              {own.map((entry) => {
                const place = found.indexOf(entry);
                return (
                  <Option
                    key={entry.id}
                    id={`${name}-${place}`}
                    entry={entry}
                    selected={place === index}
                    onPick={() => run(entry)}
                  />
                );
              })}
            </div>
          ))}
        </div>
        {found.length === 0 && (
          <p className="px-4 pb-4 text-fg-2 text-sm">
            Nothing has that name. Messages are searched from three letters on.
          </p>
        )}
        <p aria-live="polite" className="sr-only">
          {plural(found.length, 'result')}
        </p>
      </div>
    </Dialog>
  );
}

function byGroup(found: readonly Found[]): [string, Found[]][] {
  const groups = new Map<string, Found[]>();
  for (const each of found) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  return [...groups];
}

function Option({
  id,
  entry,
  selected,
  onPick,
}: {
  id: string;
  entry: Found;
  selected: boolean;
  onPick: () => void;
}) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text above
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={selected}
      onClick={onPick}
      className={cx(
        'flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-sm pointer-coarse:h-11',
        selected ? 'bg-active' : 'hover:bg-hover',
      )}
    >
      {entry.icon}
      <span className="min-w-0 max-w-[70%] shrink-0 truncate">
        <Marked text={entry.text} at={entry.at} />
      </span>
      {entry.more && (
        <span className="min-w-0 flex-1 truncate text-fg-3 text-xs">{entry.more}</span>
      )}
      {entry.keys && <span className="ml-auto">{entry.keys}</span>}
    </div>
  );
}

/** A name with the letters that were found in it. */
function Marked({ text, at }: { text: string; at: readonly number[] }) {
  return pieces(text, at).map(({ from, piece, found }) =>
    found ? (
      <b key={from} className="font-semibold">
        {piece}
      </b>
    ) : (
      piece
    ),
  );
}

function pieces(text: string, at: readonly number[]) {
  const hits = new Set(at);
  const out: { from: number; piece: string; found: boolean }[] = [];
  for (let i = 0; i < text.length; i++) {
    const last = out.at(-1);
    if (last?.found === hits.has(i)) last.piece += text[i];
    else out.push({ from: i, piece: text[i] ?? '', found: hits.has(i) });
  }
  return out;
}
