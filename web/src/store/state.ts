import type { Conversation, Usage } from '../api/types';
import { Drafts } from './drafts';
import { Index } from './index';
import type {
  AgentRow,
  ApprovalRow,
  GrantRow,
  MessageRow,
  ModelCallRow,
  NoteRow,
  QuestionRow,
  StopRow,
  TaskRow,
  ToolCallRow,
  TurnRow,
} from './rows';
import { Table } from './table';

/** What a snapshot says was used, and up to which event. */
export interface Spent {
  seq: number;
  used: Usage;
  /** The most that the conversation may cost, if somebody set a limit. */
  limit: number | undefined;
  agents: Record<string, { own: Usage; subtree: Usage }>;
}

/** The rows of one conversation. apply.ts and load.ts fill them, selectors read them. */
export class ConversationTables {
  readonly head = new Table<Conversation>();
  readonly messages = new Table<MessageRow>();
  readonly agents = new Table<AgentRow>();
  readonly tasks = new Table<TaskRow>();
  readonly toolCalls = new Table<ToolCallRow>();
  readonly modelCalls = new Table<ModelCallRow>();
  readonly approvals = new Table<ApprovalRow>();
  readonly questions = new Table<QuestionRow>();
  readonly notes = new Table<NoteRow>();
  readonly turns = new Table<TurnRow>();
  readonly stops = new Table<StopRow>();
  readonly grants = new Table<GrantRow>();
  readonly drafts = new Drafts();
  /** The same rows, by what screens look for them by. */
  readonly by = {
    messageAgent: new Index(this.messages, (row) => row.agent || 'main'),
    agentParent: new Index(this.agents, (row) => row.parent),
    taskAgent: new Index(this.tasks, (row) => row.agent),
    taskParent: new Index(this.tasks, (row) => row.parent),
    taskCall: new Index(
      this.tasks,
      (row) => row.parent && `${row.parent}#${row.parent_call ?? ''}`,
    ),
    toolCallAgent: new Index(this.toolCalls, (row) => row.agent),
    modelCallAgent: new Index(this.modelCalls, (row) => row.agent),
    noteAgent: new Index(this.notes, (row) => row.agent ?? 'main'),
  };
  /** The numbers of posted messages that the orchestrator's model was sent. */
  readonly read = new Set<number>();
  /** What was used as of a snapshot; usage.ts adds what came since. */
  spent: Spent | undefined;
  /** The last event that is known of. */
  seq = 0;
  private known = 0;

  constructor(readonly id: string) {}

  /** Up to here nothing is missing beyond what a snapshot leaves out. A stream goes on after it. */
  get whole(): number {
    return this.known;
  }

  set whole(seq: number) {
    this.known = seq;
    this.drafts.settle(seq);
  }

  /** The conversation itself, once it is known. */
  get conversation(): Conversation | undefined {
    return this.head.get(this.id);
  }
}
