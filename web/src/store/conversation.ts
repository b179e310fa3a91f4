import type { Delta, Event, Snapshot } from '../api/types';
import { apply } from './apply';
import { loadSnapshot } from './load';
import { ConversationTables } from './state';

/** Everything known about one conversation. Snapshots and events fill it, in any order. */
export class ConversationState extends ConversationTables {
  /** Takes in what happened. What was taken in before makes no difference. */
  apply(event: Event): void {
    apply(this, event);
    this.seq = Math.max(this.seq, event.seq);
  }

  /** Takes in text on its way. */
  applyDelta(delta: Delta): void {
    this.drafts.add(delta);
  }

  /** Takes in a snapshot. Events that are newer stay as they are. */
  load(snapshot: Snapshot): void {
    loadSnapshot(this, snapshot);
    this.seq = Math.max(this.seq, snapshot.conversation.seq);
  }
}
