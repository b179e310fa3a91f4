import type { ConnectionStatus } from './connection';
import { Leader } from './leader';
import type { Frame } from './sse';
import { type Told, tabLock, type Wish } from './told';

export interface Listener {
  onFrame: (frame: Frame, prev: string) => void;
  /** All up to this event was told. */
  onAt: (last: string) => void;
  onStatus: (status: ConnectionStatus) => void;
}

/**
 * Tells all tabs of a browser what the server says, over one connection for each thing that is watched. The tab that has
 * the lock, the leader, reads for all of them; when it closes, the next one goes on where they are. A browser
 * gives one server six connections, so a seventh tab with one of its own could not even load.
 */
export class Exchange {
  readonly tab = crypto.randomUUID();
  private readonly channel = new BroadcastChannel('retinue');
  private readonly listeners = new Map<string, Listener>();
  private readonly wishes = new Map<string, () => Wish>();
  private leader: Leader | undefined;

  constructor() {
    this.channel.onmessage = (message: MessageEvent<Told>) => this.hear(message.data);
    document.addEventListener('visibilitychange', () => this.wishAgain());
    addEventListener('focus', () => this.wishAgain());
    void this.lead();
  }

  /** Begins to hear what others are told of a stream. Nothing is asked for yet. */
  listen(stream: string, listener: Listener): void {
    this.listeners.set(stream, listener);
  }

  /** Asks for a stream, or again because something about the wish is another. */
  wish(stream: string, wish: () => Omit<Wish, 'tab' | 'stream' | 'seen'>): void {
    this.wishes.set(stream, () => ({ ...wish(), tab: this.tab, stream, seen: seen() }));
    this.say(stream);
  }

  drop(stream: string): void {
    this.listeners.delete(stream);
    if (!this.wishes.delete(stream)) return;
    this.channel.postMessage({ kind: 'drop', tab: this.tab, stream } satisfies Told);
    this.leader?.drop(this.tab, stream);
  }

  retryNow = (): void => {
    if (this.leader) this.leader.retryNow();
    else this.channel.postMessage({ kind: 'retry' } satisfies Told);
  };

  private say(stream: string): void {
    const wish = this.wishes.get(stream)?.();
    if (!wish) return;
    if (this.leader) this.leader.wish(wish);
    else this.channel.postMessage({ kind: 'wish', wish } satisfies Told);
  }

  private wishAgain(): void {
    for (const stream of this.wishes.keys()) this.say(stream);
  }

  /** Waits for the lock and holds it as long as the tab lives. */
  private async lead(): Promise<void> {
    const hold = () => {
      this.leader = new Leader((told) => {
        if (this.leader?.hasOthers(this.tab)) this.channel.postMessage(told);
        this.told(told);
      });
      this.wishAgain();
      if (shared) this.channel.postMessage({ kind: 'who' } satisfies Told);
      return new Promise<never>(() => undefined);
    };
    if (!shared) return hold();
    // The others know by this lock that a tab is gone, however it went.
    void navigator.locks.request(tabLock(this.tab), () => new Promise<never>(() => undefined));
    await navigator.locks.request('retinue leader', hold);
  }

  private hear(told: Told): void {
    if (!shared) return;
    switch (told.kind) {
      case 'who':
        return this.wishAgain();
      case 'wish':
        return this.leader?.wish(told.wish);
      case 'drop':
        return this.leader?.drop(told.tab, told.stream);
      case 'retry':
        return this.leader?.retryNow();
      default:
        // Whatever a leader says that is none any more comes before what the next one says.
        this.told(told);
    }
  }

  private told(told: Told): void {
    if (!('stream' in told)) return;
    const listener = this.listeners.get(told.stream);
    if (told.kind === 'frame') listener?.onFrame(told.frame, told.prev);
    else if (told.kind === 'at') listener?.onAt(told.last);
    else if (told.kind === 'status') {
      listener?.onStatus({ phase: told.phase, retryAt: told.retryAt, error: undefined });
    }
  }
}

/** A page that is not served securely has no locks: each tab reads for itself. */
const shared = navigator.locks !== undefined;

/** More than any time: what is on a screen comes before what is not. */
const ON_SCREEN = 2 ** 52;

let lastSeen = Date.now();

/** When somebody looked at this tab. Of several windows on a screen it is the one that had the focus last. */
const seen = (): number =>
  document.visibilityState === 'visible' ? ON_SCREEN + lastSeen : lastSeen;

function look(): void {
  lastSeen = Date.now();
}
document.addEventListener('visibilitychange', look);
addEventListener('focus', look);

export const exchange = new Exchange();
