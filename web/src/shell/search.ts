// The selection is in the address, so that every view can be linked to and comes back after a reload.

/** The search of every page of a conversation. */
export interface ConversationSearch {
  /** The agent whose inspector is open. */
  agent?: string;
  /** The ask that the dock shows. */
  ask?: string;
  /** Which view of the agent is seen, if not its transcript. */
  tab?: string;
}

/** The search of the page of one call. */
export interface CallSearch extends ConversationSearch {
  /** Whose call it is: ids of calls are unique in their agent only. */
  of?: string;
  kind?: 'model' | 'tool';
  /** The task that a model call is part of, if it is not the agent's first. */
  task?: string;
}

/** The search of the timeline: a span of time, and whether idle time is folded. */
export interface TimelineSearch extends ConversationSearch {
  from?: number;
  to?: number;
  fold?: boolean;
}

/** The search of the cost page: the rows are summed by this. */
export interface CostSearch extends ConversationSearch {
  by?: 'agent' | 'role' | 'model' | 'turn';
}
