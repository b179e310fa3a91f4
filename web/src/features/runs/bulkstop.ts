import type { Run } from '../../api/installation';
import { explain } from '../../api/problem';
import { runKey } from './list';

/** What became of one order to stop. */
export type StopState =
  | { state: 'sending' }
  | { state: 'accepted' }
  | { state: 'refused'; why: string };

const AT_ONCE = 4;

interface Order {
  run: Run;
  key: string;
}

/**
 * Stops several runs: one command each, with a key of its own that stays the same when a person tries again, so that
 * whatever the network does nothing is stopped twice. A refusal of one does not hold up the others.
 */
export class BulkStop {
  readonly states = new Map<string, StopState>();
  private readonly keys = new Map<string, string>();

  constructor(
    private readonly send: (run: Run, key: string) => Promise<unknown>,
    private readonly newKey: () => string,
    private readonly changed: () => void,
  ) {}

  async stop(runs: readonly Run[]): Promise<void> {
    const orders = runs.flatMap((run): Order[] => {
      const name = runKey(run);
      const before = this.states.get(name)?.state;
      if (before === 'sending' || before === 'accepted') return [];
      const key = this.keys.get(name) ?? this.newKey();
      this.keys.set(name, key);
      this.states.set(name, { state: 'sending' });
      return [{ run, key }];
    });
    this.changed();
    const next = orders[Symbol.iterator]();
    const worker = async () => {
      for (const order of next) await this.one(order);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  private async one({ run, key }: Order): Promise<void> {
    const name = runKey(run);
    try {
      await this.send(run, key);
      this.states.set(name, { state: 'accepted' });
    } catch (error) {
      const { what, next } = explain(error);
      this.states.set(name, { state: 'refused', why: [what, next].filter(Boolean).join(' ') });
    }
    this.changed();
  }

  counts(): { sending: number; accepted: number; refused: number } {
    const counts = { sending: 0, accepted: 0, refused: 0 };
    for (const { state } of this.states.values()) counts[state]++;
    return counts;
  }
}
