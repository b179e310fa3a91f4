// What the tabs of a browser say to each other.

import type { ConnectionStatus } from './connection';
import type { Frame } from './sse';

/** What a tab wants to be told of. */
export interface Wish {
  tab: string;
  /** Names the stream. Tabs that wish for the same one share it. */
  stream: string;
  path: string;
  /** The agents whose text is wanted while it is made. */
  deltas: readonly string[];
  /** The id of the last event up to which the tab knows everything; empty if it knows none. */
  last: string;
  /** When the tab was looked at last; those that are come first. */
  seen: number;
}

/** What tabs say to each other. */
export type Told =
  | { kind: 'wish'; wish: Wish }
  | { kind: 'drop'; tab: string; stream: string }
  | { kind: 'who' }
  | { kind: 'retry' }
  /** Prev is the id of the event before it: who does not know that one has missed something. */
  | { kind: 'frame'; stream: string; prev: string; frame: Frame }
  | { kind: 'at'; stream: string; last: string }
  | {
      kind: 'status';
      stream: string;
      phase: ConnectionStatus['phase'];
      retryAt: number | undefined;
    };

/** The lock that a tab holds as long as it lives. */
export const tabLock = (tab: string): string => `retinue tab ${tab}`;
