import { useCallback, useEffect, useRef, useState } from 'react';
import { useConversation } from '../../store/hooks';
import { transcript } from '../../store/selectors';
import { type Earlier, readModelCallPage, readTranscriptPage } from '../../transport/agentpages';

export interface Pages {
  reading: boolean;
  /** Whether there is something before what is shown. */
  more: boolean;
  earlier: () => void;
}

/** Keeps reading pages of an agent's, the last one at once and those before it when somebody gets there. */
function usePages<Cursor>(
  key: string,
  read: (from: Cursor | undefined, signal: AbortSignal) => Promise<Cursor | undefined>,
): { reading: boolean; cursor: Cursor | undefined; earlier: () => void } {
  const [reading, setReading] = useState(true);
  const [cursor, setCursor] = useState<Cursor>();
  const ended = useRef(new AbortController());
  const busy = useRef(false);
  const go = useCallback(
    async (from: Cursor | undefined, signal: AbortSignal) => {
      if (busy.current) return;
      busy.current = true;
      setReading(true);
      try {
        const next = await read(from, signal);
        if (!signal.aborted) setCursor(() => next);
      } catch {
        // What is known is shown; the stream brings what is new, and the next look tries again.
      } finally {
        busy.current = false;
        if (!signal.aborted) setReading(false);
      }
    },
    [read],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what is read
  useEffect(() => {
    ended.current = new AbortController();
    busy.current = false;
    setCursor(undefined);
    void go(undefined, ended.current.signal);
    return () => ended.current.abort();
  }, [key]);
  const earlier = useCallback(() => void go(cursor, ended.current.signal), [go, cursor]);
  return { reading, cursor, earlier };
}

/** An agent's transcript. What is in the store already is not earlier. */
export function useTranscriptPages(conversation: string, agent: string): Pages {
  const read = useCallback(
    async (from: Earlier | undefined, signal: AbortSignal) => {
      const next = await readTranscriptPage(conversation, agent, from, signal);
      return next.messages === undefined && next.calls === undefined ? undefined : next;
    },
    [conversation, agent],
  );
  const { reading, cursor, earlier } = usePages(`${conversation} ${agent}`, read);
  const known = useConversation(conversation, (state) => {
    const first = transcript(state, agent).find((message) => message.speaker === 'assistant');
    return first !== undefined && first.seq < (cursor?.messages ?? 0);
  });
  return { reading, more: cursor !== undefined && !known, earlier };
}

/** An agent's model calls. */
export function useModelCallPages(conversation: string, agent: string): Pages {
  const read = useCallback(
    (from: number | undefined, signal: AbortSignal) =>
      readModelCallPage(conversation, agent, from, signal),
    [conversation, agent],
  );
  const { reading, cursor, earlier } = usePages(`${conversation} ${agent}`, read);
  return { reading, more: cursor !== undefined, earlier };
}
