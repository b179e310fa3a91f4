import { useNavigate } from '@tanstack/react-router';
import { lazy, type RefObject, Suspense, useEffect, useRef, useState } from 'react';
import type { ConversationSearch } from '../../shell/search';
import { useSelectedAsk } from '../../shell/selection';
import { askById } from '../../store/askselectors';
import { useConversation } from '../../store/hooks';
import { type Ask, openAsks } from '../../store/selectors';
import { Skeleton } from '../../ui/small';
import { toast } from '../../ui/toast';
import { DockHead, isOpen } from './dockhead';
import { awaitedFocus, registerDock } from './goto';
import { neighbour, shownAsk, versionOf } from './hold';
import { useAskKeys } from './keys';

// Most of the time nothing is asked, so the cards are not in the first script.
const AskCard = lazy(() => import('./askcard').then((module) => ({ default: module.AskCard })));

/** All that waits for a person in a conversation, one at a time, oldest first. The composer below it stays open. */
export function AskDock({ conversation }: { conversation: string }) {
  return <Dock key={conversation} conversation={conversation} />;
}

function Dock({ conversation }: { conversation: string }) {
  const open = useConversation(conversation, openAsks);
  const { held, hold } = useHeld();
  const ask = useHeldAsk(conversation, held);
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const [minimised, setMinimised] = useState(false);
  const { actions, onKeyDown } = useAskKeys();
  const box = useRef<HTMLElement>(null);
  const sent = useRef(new Set<number>());
  const visited = useRef(false);
  useTooLate(conversation, sent.current);
  const shown = shownAsk(open, ask, done);
  const showing = shown?.ask.id;
  // What is shown once stays until a person moves on.
  useEffect(() => {
    if (showing !== undefined && showing !== held) hold(showing, 'quietly');
  }, [showing, held, hold]);
  const move = shown && ((step: 1 | -1) => hold(neighbour(shown, step).id));
  useDockFocus(box, shown !== undefined, () => {
    setMinimised(false);
    if (box.current?.contains(document.activeElement)) move?.(1);
    box.current?.focus();
  });
  const finish = (over: Ask, number?: number) => {
    if (number !== undefined) sent.current.add(number);
    // What had the focus may be gone already: the stream may be faster than the answer.
    const at = document.activeElement;
    const inside = box.current?.contains(at) || (at === document.body && visited.current);
    setDone((before) => new Set(before).add(versionOf(over)));
    hold(undefined);
    if (inside) requestAnimationFrame(() => (box.current ?? conversationLog())?.focus());
  };
  if (!shown) return null;
  return (
    <section
      ref={box}
      tabIndex={-1}
      aria-label={`Waiting for you, ${shown.place} of ${shown.listed.length}`}
      data-s={isOpen(shown.ask) ? 'you' : 'quiet'}
      data-region="dock"
      data-ask={shown.ask.id}
      onKeyDown={onKeyDown}
      onFocus={() => {
        visited.current = true;
      }}
      onBlur={({ relatedTarget, currentTarget }) => {
        if (relatedTarget) visited.current = currentTarget.contains(relatedTarget);
      }}
      className="st st-line flex max-h-[min(62dvh,640px)] flex-col overflow-hidden rounded-xl border bg-surface shadow-pop"
    >
      <DockHead
        conversation={conversation}
        shown={shown}
        minimised={minimised}
        onMinimise={() => setMinimised(!minimised)}
        onMove={(step) => move?.(step)}
      />
      {!minimised && (
        <Suspense fallback={<Skeleton className="m-3 h-24" />}>
          <AskCard
            key={shown.ask.id}
            conversation={conversation}
            ask={shown.ask}
            keys={actions}
            onDone={(number) => finish(shown.ask, number)}
          />
        </Suspense>
      )}
    </section>
  );
}

const conversationLog = () => document.querySelector<HTMLElement>('[role="log"]');

/** The ask that is kept on the screen: what the address names, or what was shown first. */
function useHeld() {
  const wanted = useSelectedAsk();
  const navigate = useNavigate();
  const [held, setHeld] = useState(wanted);
  const [before, setBefore] = useState(wanted);
  if (wanted !== before) {
    setBefore(wanted);
    if (wanted !== undefined) setHeld(wanted);
  }
  const go = useRef(navigate);
  go.current = navigate;
  const [hold] = useState(() => (id: string | undefined, quietly?: 'quietly') => {
    setHeld(id);
    if (quietly) return;
    const search = ({ ask: _, ...rest }: ConversationSearch) =>
      id === undefined ? rest : { ...rest, ask: id };
    void go.current({ to: '.', search, replace: true } as never);
  });
  return { held, hold };
}

function useHeldAsk(conversation: string, held: string | undefined): Ask | undefined {
  return useConversation(conversation, (state) =>
    held === undefined ? undefined : askById(state, held),
  );
}

/** Control period brings the focus here, from wherever. Nothing else does. */
function useDockFocus(
  box: RefObject<HTMLElement | null>,
  there: boolean,
  onCall: () => void,
): void {
  const call = useRef(onCall);
  call.current = onCall;
  useEffect(() => {
    if (!there) return;
    if (awaitedFocus()) box.current?.focus();
    return registerDock(() => call.current());
  }, [there, box]);
}

/** Tells a person whose answer came after another. What they wrote went to the orchestrator as a message. */
function useTooLate(conversation: string, sent: ReadonlySet<number>): void {
  const late = useConversation(
    conversation,
    (state) =>
      state.notes
        .all()
        .filter((n) => n.note === 'already_answered')
        .at(-1)?.number,
  );
  const told = useRef(new Set<number>());
  useEffect(() => {
    if (late === undefined || !sent.has(late) || told.current.has(late)) return;
    told.current.add(late);
    toast(
      'The question had been answered before',
      'What you wrote was kept: the orchestrator reads it as a message.',
    );
  }, [late, sent]);
}
