import type { Delta, Event, ListEvent, Snapshot } from '../api/types';
import { ConversationState } from './conversation';
import { Flush } from './flush';
import { ListState } from './list';

/** The one store of the page. The transport writes into it, screens read from it, nobody else does either. */
export class Store {
  readonly list = new ListState();
  private readonly states = new Map<string, ConversationState>();
  private readonly flush = new Flush();

  subscribe = this.flush.subscribe;

  /** What is known of a conversation, which may be nothing yet. */
  conversation(id: string): ConversationState {
    let state = this.states.get(id);
    if (!state) {
      state = new ConversationState(id);
      this.states.set(id, state);
    }
    return state;
  }

  apply(id: string, events: readonly Event[]): void {
    const state = this.conversation(id);
    for (const event of events) state.apply(event);
    this.flush.plan();
  }

  applyDelta(id: string, delta: Delta): void {
    this.conversation(id).applyDelta(delta);
    this.flush.plan();
  }

  load(snapshot: Snapshot): void {
    this.conversation(snapshot.conversation.id).load(snapshot);
    this.flush.plan();
  }

  applyList(event: ListEvent): void {
    this.list.apply(event);
    this.flush.plan();
  }

  /** For what else changed: a function that writes, and everyone is told. */
  change(write: (store: Store) => void): void {
    write(this);
    this.flush.plan();
  }

  /** Forgets a conversation that is closed or gone. */
  forget(id: string): void {
    this.states.delete(id);
    this.flush.plan();
  }
}

export const store = new Store();
