import { credentials } from '../api/credential';
import type { StreamEvent } from '../api/types';
import { store } from '../store/store';
import { isRecorded, parsed } from './event';
import { FrameReader } from './sse';

/** After this long without an event there is none left: some numbers are no event, so the last may never come. */
const QUIET = 3_000;

/**
 * Reads what happened in a conversation after one event and up to another into the store, which does not mind that it
 * comes late. The result says whether that was all of it: who is too far behind is sent to the snapshot.
 */
export async function readEvents(
  id: string,
  after: number,
  upTo: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (upTo <= after) return true;
  const enough = new AbortController();
  const stop = () => enough.abort();
  signal.addEventListener('abort', stop);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let begun = false;
  try {
    const path = `/v1/conversations/${encodeURIComponent(id)}/events?after=${after}`;
    const answer = await fetch(path, {
      headers: { ...credentials(), Accept: 'text/event-stream' },
      credentials: 'same-origin',
      cache: 'no-store',
      signal: enough.signal,
    });
    if (!answer.ok || !answer.body) return false;
    const frames = new FrameReader();
    const reader = answer.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      const events: StreamEvent[] = frames.push(value).map(parsed);
      if (events.some((event) => event.type === 'resync')) return false;
      const recorded = events.filter(isRecorded);
      store.apply(id, recorded);
      if (recorded.some((event) => event.seq >= upTo)) return true;
      begun = true;
      clearTimeout(timer);
      timer = setTimeout(stop, QUIET);
    }
  } catch {
    return begun && enough.signal.aborted && !signal.aborted;
  } finally {
    clearTimeout(timer);
    enough.abort();
    signal.removeEventListener('abort', stop);
  }
}
