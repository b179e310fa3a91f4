import type { Conversation, ListEvent, Schemas, Waiting } from '../api/types';
import { Table } from './table';

/** A conversation in the sidebar. */
export interface ListRow extends Conversation {
  /** How many things in it wait for a person. */
  waiting: number;
  /** How many of its tasks are under way and wait for nobody. */
  running: number;
  /** How the orchestrator's last turn ended. */
  last?: Schemas['ListedConversation']['last'];
}

/** Something that waits for a person, in whichever conversation. */
export interface InboxRow extends Waiting {
  id: string;
  seq: number;
}

/** The conversations and the inbox: states, of which the last one counts. */
export class ListState {
  readonly conversations = new Table<ListRow>();
  readonly inbox = new Table<InboxRow>();
  /** Whether the list was read. Until then an empty one means nothing. */
  ready = false;
  private readonly gone = new Set<string>();
  /** When the stream last spoke of something in the inbox. */
  private readonly told = new Map<string, number>();
  private clock = 0;

  /** Takes in what a stream says. It tells states in the order of their making, so the last one counts. */
  apply(event: ListEvent): void {
    const version = ++this.clock;
    switch (event.type) {
      case 'conversation.updated': {
        const { id, ...fields } = event.conversation;
        if (event.conversation.archived || this.gone.has(id)) {
          return this.conversations.remove(id);
        }
        const { waiting, running, last } = event;
        return this.conversations.bear(id, { ...fields, waiting, running, last }, version);
      }
      case 'conversation.removed':
        this.gone.add(event.conversation);
        this.dropInbox(event.conversation);
        return this.conversations.remove(event.conversation);
      case 'inbox.added':
        this.told.set(inboxId(event.item.conversation, askId(event.item)), version);
        return this.addInbox(event.item, version);
      case 'inbox.removed': {
        const id = inboxId(event.conversation, event.approval ?? event.question ?? '');
        this.told.set(id, version);
        return this.inbox.remove(id);
      }
    }
  }

  /** Says that the list is about to be read. What the stream says from now on is newer than what was read. */
  reading(): number {
    return ++this.clock;
  }

  /** Takes in the list and the inbox as they were read. What is not in them is not there, unless the stream spoke of it since. */
  load(
    conversations: readonly Schemas['ListedConversation'][],
    inbox: readonly Waiting[],
    asked = this.reading(),
  ): void {
    const read = new Map(inbox.map((item) => [inboxId(item.conversation, askId(item)), item]));
    const isNewer = (id: string) => (this.told.get(id) ?? 0) > asked;
    for (const { id } of this.inbox.all()) {
      if (!read.has(id) && !isNewer(id)) this.inbox.remove(id);
    }
    for (const [id, item] of read) if (!isNewer(id)) this.addInbox(item, asked);
    for (const { id, ...fields } of conversations) {
      if (this.gone.has(id)) continue;
      const waiting = inbox.filter((item) => item.conversation === id).length;
      this.conversations.bear(id, { ...fields, waiting }, asked);
    }
    this.ready = true;
  }

  private addInbox(item: Waiting, version: number): void {
    const id = inboxId(item.conversation, askId(item));
    this.inbox.bear(id, { ...item, seq: Date.parse(item.at) }, version);
  }

  private dropInbox(conversation: string): void {
    for (const row of this.inbox.all()) {
      if (row.conversation === conversation) this.inbox.remove(row.id);
    }
  }
}

const inboxId = (conversation: string, ask: string): string => `${conversation} ${ask}`;
const askId = (item: Waiting): string => item.approval?.id ?? item.question?.id ?? '';
