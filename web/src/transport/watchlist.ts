import { listConversations, listInbox } from '../api/reads';
import type { ListEvent } from '../api/types';
import { store } from '../store/store';
import { exchange } from './exchange';
import { dropFeedStatus, setFeedStatus } from './status';

/** Keeps the list of conversations and the inbox as they are on the server. The result ends it. */
export function watchList(): () => void {
  const ended = new AbortController();
  const stream = 'list';
  let last = '';
  /** Ids of the list have no order: a client that does not know the one before has missed something. */
  const miss = (before: string): void => {
    if (last && before !== last) void readAll(ended.signal);
  };
  exchange.listen(stream, {
    onFrame: (frame, prev) => {
      const event = JSON.parse(frame.data) as ListEvent;
      if (event.type === 'resync') void readAll(ended.signal);
      else {
        if (frame.id) miss(prev);
        store.applyList(event);
      }
      if (frame.id) last = frame.id;
    },
    onAt: (at) => {
      miss(at);
      last = at;
    },
    onStatus: (status) => setFeedStatus(stream, status, exchange.retryNow),
  });
  exchange.wish(stream, () => ({ path: '/v1/events', deltas: [], last }));
  // A tab that comes later hears no resync: the tab with the connection has it behind it.
  void readAll(ended.signal);
  return () => {
    ended.abort();
    exchange.drop(stream);
    dropFeedStatus(stream);
  };
}

const PAGE = 200;

async function readAll(signal: AbortSignal): Promise<void> {
  const asked = store.list.reading();
  try {
    const [list, inbox] = await Promise.all([
      listConversations({ limit: PAGE }, { signal }),
      listInbox({ limit: PAGE }, { signal }),
    ]);
    store.change(({ list: state }) => state.load(list.items, inbox.items, asked));
  } catch {
    // The connection is broken too, then; it comes back with a resync, which reads again.
  }
}
