import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown } from 'lucide-react';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { BlockStream } from '../../markdown/blocks';
import type { ConversationState } from '../../store/conversation';
import { useConversation } from '../../store/hooks';
import { cached, draftsOf } from '../../store/selectors';
import { Button } from '../../ui/button';
import { EmptyState, Skeleton } from '../../ui/small';
import { draftEntries, type Entry, entriesOf } from './entries';
import { EntryRow } from './rows';
import { useTranscriptPages } from './usepages';

const entriesFor = (state: ConversationState, agent: string): readonly Entry[] =>
  cached(
    state,
    `entries ${agent}`,
    [state.messages, state.turns, state.toolCalls, state.tasks, state.notes],
    () => entriesOf(state, agent),
  );

/** Text on its way, in rows. Only the last block of a growing text is split again. */
function useDraftEntries(conversation: string, agent: string): readonly Entry[] {
  const drafts = useConversation(conversation, (state) => draftsOf(state, agent));
  const streams = useRef(new Map<string, { stream: BlockStream; text: string }>());
  return useMemo(() => {
    if (drafts.length === 0) streams.current.clear();
    return drafts.flatMap((draft) =>
      draftEntries(draft, (key, text) => {
        const before = streams.current.get(key);
        // What was lost may be filled in later: then it is another text, and begins anew.
        const grown = before && text.startsWith(before.text) ? before.stream : new BlockStream();
        const stream = grown.sync(text);
        streams.current.set(key, { stream, text });
        return stream.all();
      }),
    );
  }, [drafts]);
}

const distance = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement): number =>
  scrollHeight - scrollTop - clientHeight;

/** Nearer to the end than this, the reader follows it. */
const NEAR = 48;

/** What an agent was asked, thought, said and did. It follows the end only while the reader is there. */
export function AgentTranscript({
  conversation,
  agent,
  live,
  onShowResult,
}: {
  conversation: string;
  agent: string;
  /** Whether the agent is at work: its reader begins at the end. */
  live: boolean;
  onShowResult: () => void;
}) {
  const settled = useConversation(conversation, (state) => entriesFor(state, agent));
  const drafts = useDraftEntries(conversation, agent);
  const entries = useMemo(
    () => (drafts.length > 0 ? [...settled, ...drafts] : settled),
    [settled, drafts],
  );
  const pages = useTranscriptPages(conversation, agent);
  const box = useRef<HTMLDivElement>(null);
  const [away, setAway] = useState(false);
  const [held, hold] = useHold();
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => estimate(entries[index]),
    getItemKey: (index) => entries[index]?.key ?? index,
    overscan: 8,
    anchorTo: held ? 'start' : 'end',
    paddingStart: 16,
    paddingEnd: 20,
  });
  const following = useRef(live);
  const size = virtual.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is what is shown that moves the end
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (following.current && !held) element.scrollTop = element.scrollHeight;
    setAway(distance(element) > NEAR * 4);
  }, [entries, size]);
  const onScroll = (element: HTMLDivElement) => {
    following.current = distance(element) < NEAR;
    setAway(distance(element) > NEAR * 4);
    if (element.scrollTop < element.clientHeight && pages.more) pages.earlier();
  };
  const jump = () => {
    following.current = true;
    virtual.scrollToEnd();
  };
  return (
    <div className="relative h-full">
      <div
        ref={box}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Transcript"
        onScroll={(event) => onScroll(event.currentTarget)}
        onClickCapture={(event) => {
          if ((event.target as Element).closest('button[aria-expanded]')) hold();
        }}
        className="h-full overflow-y-auto overflow-x-hidden"
      >
        {entries.length === 0 && (pages.reading ? <Waiting /> : <EmptyState title="Nothing yet" />)}
        {pages.more && (
          <p className="px-4 pt-3">
            <Button size="small" look="ghost" onClick={pages.earlier} disabled={pages.reading}>
              {pages.reading ? 'Reading earlier messages…' : 'Show earlier messages'}
            </Button>
          </p>
        )}
        <div className="relative" style={{ height: size }}>
          {virtual.getVirtualItems().map((item) => {
            const entry = entries[item.index];
            if (!entry) return null;
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                data-key={entry.key}
                className="absolute inset-x-0 top-0 px-4"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <EntryRow conversation={conversation} entry={entry} onShowResult={onShowResult} />
              </div>
            );
          })}
        </div>
      </div>
      {away && live && (
        <Button
          size="small"
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-pop"
          onClick={jump}
        >
          <ArrowDown className="size-3.5" aria-hidden="true" />
          Jump to latest
        </Button>
      )}
    </div>
  );
}

/** How long it takes until what a row shows is read and drawn. */
const SETTLE = 1500;

/** While a row is being opened it stays where it is, even at the end, which is followed otherwise. */
function useHold(): [boolean, () => void] {
  const [held, setHeld] = useState(0);
  useEffect(() => {
    if (held === 0) return;
    const timer = setTimeout(() => setHeld(0), SETTLE);
    return () => clearTimeout(timer);
  }, [held]);
  return [held > 0, () => setHeld((count) => count + 1)];
}

const Waiting = () => (
  <div className="space-y-3 p-4">
    <Skeleton className="h-20" />
    <Skeleton className="h-8" />
    <Skeleton className="h-8" />
  </div>
);

function estimate(entry: Entry | undefined): number {
  switch (entry?.kind) {
    case 'task':
      return 120;
    case 'text':
      return 36 + Math.floor(entry.raw.length / 60) * 24;
    case 'agents':
      return 16 + entry.tasks.length * 45;
    case 'image':
      return 200;
    default:
      return 42;
  }
}
