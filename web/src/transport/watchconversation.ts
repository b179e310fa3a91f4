import { transient } from '../api/problem';
import { getConversation } from '../api/reads';
import { pause, sleep } from '../api/request';
import { store } from '../store/store';
import { isRecorded, parsed } from './event';
import { exchange } from './exchange';
import { readEvents } from './history';
import type { Frame } from './sse';
import { dropFeedStatus, setFeedStatus } from './status';

/** Conversations up to this long are read whole; of longer ones the screens read what they show. */
const WHOLE = 5_000;

export interface Watch {
  /** Says of which agents text is wanted while it is made: the open conversation's and the open inspector's. */
  setDeltas: (agents: readonly string[]) => void;
  close: () => void;
}

/** Why a conversation cannot be shown. */
export type Trouble = { error: unknown } | { cut: 'deleted' | 'refused' };

/** Keeps one conversation as it is on the server. */
export function watchConversation(
  id: string,
  deltas: readonly string[],
  onTrouble: (trouble: Trouble) => void,
): Watch {
  const watching = new Watching(id, deltas, onTrouble);
  return watching;
}

/**
 * A snapshot, and what happens after it. It listens before it reads the snapshot, so nothing can happen in
 * between that it does not hear of; and of each event it knows which one came before, so it notices what it missed.
 */
class Watching implements Watch {
  private readonly ended = new AbortController();
  private readonly state;
  private readonly stream: string;
  private wanted: readonly string[];
  /** How far others are known to be, when this is behind. */
  private target = 0;
  private catching = false;
  private reading = false;

  constructor(
    private readonly id: string,
    deltas: readonly string[],
    private readonly onTrouble: (trouble: Trouble) => void,
  ) {
    this.state = store.conversation(id);
    this.stream = `conversation ${id}`;
    this.wanted = [...deltas];
    exchange.listen(this.stream, {
      onFrame: (frame, prev) => this.take(frame, Number(prev)),
      onAt: (last) => this.reach(Number(last)),
      onStatus: (status) => {
        setFeedStatus(this.stream, status, exchange.retryNow);
        // What the stream is refused for, the snapshot is too, and it says why.
        if (status.phase === 'ended') void this.read();
      },
    });
    // What was open before goes on where it was left.
    if (this.state.whole > 0) this.wish();
    else void this.read();
  }

  setDeltas = (agents: readonly string[]): void => {
    if (agents.join() === this.wanted.join()) return;
    this.wanted = [...agents];
    if (this.state.whole > 0) this.wish();
  };

  close = (): void => {
    this.ended.abort();
    exchange.drop(this.stream);
    dropFeedStatus(this.stream);
  };

  private wish(): void {
    exchange.wish(this.stream, () => ({
      path: `/v1/conversations/${encodeURIComponent(this.id)}/events`,
      deltas: this.wanted,
      last: String(this.state.whole),
    }));
  }

  private async read(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    const { signal } = this.ended;
    try {
      const snapshot = await patiently(() => getConversation(this.id, { signal }), signal);
      const { seq } = snapshot.conversation;
      store.load(snapshot);
      this.state.whole = Math.max(this.state.whole, seq);
      this.wish();
      if (seq <= WHOLE) await readEvents(this.id, 0, seq, signal);
    } catch (error) {
      if (!signal.aborted) this.onTrouble({ error });
    } finally {
      this.reading = false;
    }
  }

  private take(frame: Frame, prev: number): void {
    const event = parsed(frame);
    if (event.type === 'message.delta') return store.applyDelta(this.id, event);
    if (event.type === 'resync') return void this.read();
    if (event.type === 'stream.cut') {
      const { reason } = event;
      if (reason === 'deleted' || reason === 'refused') this.onTrouble({ cut: reason });
      return;
    }
    if (!isRecorded(event)) return;
    store.apply(this.id, [event]);
    if (prev <= this.state.whole && this.state.whole > 0) {
      this.state.whole = Math.max(this.state.whole, event.seq);
    } else this.reach(event.seq);
  }

  /** Reads what lies between the last event that is known and one that others know. */
  private reach(seq: number): void {
    this.target = Math.max(this.target, seq);
    if (!this.catching && this.state.whole > 0) void this.catchUp();
  }

  private async catchUp(): Promise<void> {
    this.catching = true;
    const { signal } = this.ended;
    for (let attempt = 0; this.target > this.state.whole && !signal.aborted; attempt++) {
      const { target } = this;
      if (await readEvents(this.id, this.state.whole, target, signal)) {
        this.state.whole = Math.max(this.state.whole, target);
      } else if (attempt > 0 && !signal.aborted) await this.read();
    }
    this.catching = false;
  }
}

/** Reads until it is known what the answer is. */
async function patiently<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (!transient(error)) throw error;
      await sleep(Math.min(2_000, pause(attempt, error)), signal);
    }
  }
}
