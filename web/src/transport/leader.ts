import { Connection, type ConnectionStatus } from './connection';
import type { Frame } from './sse';
import { type Told, tabLock, type Wish } from './told';

/**
 * A browser gives one server six connections at a time. Four may last, the others are for requests. When more is wished
 * for, it goes to the tabs that are looked at, then to those that were last; the rest catches up when it is looked at.
 */
const MOST = 4;

/** Wishes that come together are seen to together. */
const TOGETHER = 20;

/** Reads for all tabs, and tells them. */
export class Leader {
  private readonly wishes = new Map<string, Wish>();
  private readonly streams = new Map<string, Shared>();
  private readonly tabs = new Set<string>();
  private planned = false;

  constructor(private readonly tell: (told: Told) => void) {}

  wish(wish: Wish): void {
    this.wishes.set(`${wish.tab} ${wish.stream}`, wish);
    this.await(wish.tab);
    this.streams.get(wish.stream)?.introduce();
    this.plan();
  }

  drop(tab: string, stream: string): void {
    if (this.wishes.delete(`${tab} ${stream}`)) this.plan();
  }

  retryNow(): void {
    for (const stream of this.streams.values()) stream.retryNow();
  }

  /** Whether another tab than this wishes for anything. Who has not wished yet is told how far things are when it does. */
  hasOthers(tab: string): boolean {
    return this.tabs.size > (this.tabs.has(tab) ? 1 : 0);
  }

  /** Forgets what a tab wished for when it is gone: it holds a lock as long as it lives. */
  private await(tab: string): void {
    if (this.tabs.has(tab) || !navigator.locks) return;
    this.tabs.add(tab);
    void navigator.locks.request(tabLock(tab), { mode: 'shared' }, () => {
      this.tabs.delete(tab);
      for (const wish of [...this.wishes.values()])
        if (wish.tab === tab) this.drop(tab, wish.stream);
    });
  }

  private plan(): void {
    if (this.planned) return;
    this.planned = true;
    setTimeout(() => {
      this.planned = false;
      this.arrange();
    }, TOGETHER);
  }

  /** Opens what is wished for and not there, and closes what nobody wishes for. */
  private arrange(): void {
    const wished = new Map<string, Wish[]>();
    for (const wish of this.wishes.values()) {
      wished.set(wish.stream, [...(wished.get(wish.stream) ?? []), wish]);
    }
    const chosen = new Map([...wished].sort(byAttention).slice(0, MOST));
    for (const [name, stream] of this.streams) {
      if (chosen.has(name)) continue;
      stream.close();
      this.streams.delete(name);
      // Who still wishes for it was told all up to here, and goes on from here when it is opened again.
      for (const wish of wished.get(name) ?? []) wish.last = stream.last;
    }
    for (const [name, wishes] of chosen) {
      const stream = this.streams.get(name);
      if (stream) stream.suit(wishes);
      else this.streams.set(name, new Shared(name, wishes, this.tell));
    }
  }
}

/** The list is read for everybody; then what is looked at, then what was looked at last. */
function byAttention([a, one]: [string, Wish[]], [b, other]: [string, Wish[]]): number {
  if ((a === 'list') !== (b === 'list')) return a === 'list' ? -1 : 1;
  return latest(other) - latest(one);
}

const latest = (wishes: readonly Wish[]): number => Math.max(...wishes.map((wish) => wish.seen));

/** One stream, for all who wish for it. */
class Shared {
  last: string;
  private path: string;
  private status: ConnectionStatus = { phase: 'connecting', retryAt: undefined, error: undefined };
  /** The connections by their number. There are two while one takes over from the other. */
  private readonly connections = new Map<number, Connection>();
  private made = 0;
  /** The one that says how the stream is doing. */
  private speaks = 0;

  constructor(
    private readonly name: string,
    wishes: readonly Wish[],
    private readonly tell: (told: Told) => void,
  ) {
    this.last = earliest(wishes);
    this.path = pathOf(wishes);
    this.connect();
  }

  close(): void {
    for (const connection of this.connections.values()) connection.close();
    this.status = { phase: 'connecting', retryAt: undefined, error: undefined };
    this.tellStatus();
  }

  retryNow(): void {
    for (const connection of this.connections.values()) connection.retryNow();
  }

  /** Tells one who is new how things are. */
  introduce(): void {
    this.tellStatus();
    if (this.last) this.tell({ kind: 'at', stream: this.name, last: this.last });
  }

  /** Reads the text of other agents if others are wished for, or goes to where else it is. */
  suit(wishes: readonly Wish[]): void {
    const path = pathOf(wishes);
    if (path === this.path) return;
    this.path = path;
    this.connect();
  }

  /** Connects. What was there before ends when this one is open, so that no text on its way is missed in between. */
  private connect(): void {
    const number = ++this.made;
    const { path } = this;
    if (this.status.phase !== 'open') this.takeOver(number);
    const connection = new Connection({
      path: () => path,
      lastId: () => this.last,
      onFrame: (frame) => this.take(frame),
      onStatus: (status) => {
        if (status.phase === 'open' || status.phase === 'ended') this.takeOver(number);
        if (this.speaks !== number) return;
        this.status = status;
        this.tellStatus();
      },
    });
    this.connections.set(number, connection);
  }

  private takeOver(number: number): void {
    if (number < this.speaks) return;
    this.speaks = number;
    for (const [before, connection] of this.connections) {
      if (before >= number) continue;
      connection.close();
      this.connections.delete(before);
    }
  }

  private take(frame: Frame): void {
    // While there are two connections everything comes twice.
    if (frame.id && frame.event !== 'resync' && Number(frame.id) <= Number(this.last)) return;
    this.tell({ kind: 'frame', stream: this.name, prev: this.last, frame });
    if (frame.id) this.last = frame.id;
  }

  private tellStatus(): void {
    const { phase, retryAt } = this.status;
    this.tell({ kind: 'status', stream: this.name, phase, retryAt });
  }
}

/** Where to begin so that nobody misses anything. What some have already makes no difference to them. */
function earliest(wishes: readonly Wish[]): string {
  const all = wishes.map((wish) => wish.last);
  if (all.every((last) => last === all[0])) return all[0] ?? '';
  const numbers = all.map(Number);
  // Ids that are no numbers have no order: the server is asked to begin anew.
  return numbers.some(Number.isNaN) || all.includes('') ? '' : String(Math.min(...numbers));
}

function pathOf(wishes: readonly Wish[]): string {
  const deltas = [...new Set(wishes.flatMap((wish) => wish.deltas))].sort();
  const query = deltas.length > 0 ? `?deltas=${encodeURIComponent(deltas.join(','))}` : '';
  return (wishes[0]?.path ?? '') + query;
}
