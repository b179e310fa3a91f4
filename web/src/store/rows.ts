// What the store keeps of each thing. Ids are those of the wire; they are unique in their conversation.

import type * as wire from '../api/types';

/** Its id has its agent in it, since the wire's are unique in their agent only; see messageId. */
export interface MessageRow extends wire.Message {
  /** The question that it answers. */
  in_reply_to?: string;
  decline?: boolean;
}

export interface AgentRow {
  id: string;
  /** When it came into being. */
  seq: number;
  parent?: string;
  depth: number;
  role: string;
  role_hash?: string;
  /** Its latest task. */
  task: string;
}

export interface TaskRow extends wire.Task {
  role?: string;
  /** What follows is brought by events; a snapshot has its beginning as title, message and summary. */
  instruction?: string;
  success_criteria?: string;
  /** Where the agent was told to begin. What it changed is changed_files. */
  files?: string[];
  /** How it ended. */
  end_reason?: string;
  result?: unknown;
  receipt?: unknown;
  patch?: wire.Schemas['Patched'];
}

/** Results are not kept: they are read when a row is opened. */
export interface ToolCallRow {
  /** The agent and the call, since calls are unique in their agent only. */
  id: string;
  seq: number;
  call: string;
  agent: string;
  task: string;
  tool: string;
  turn: number;
  status: wire.ToolStatus;
  args?: string;
  attempt?: number;
  effect_class?: string;
  started_at?: string;
  finished_at?: string;
  duration_ms?: number;
  /** The beginning of what came back. */
  preview?: string;
  reason?: string;
}

export interface ModelCallRow extends wire.ModelCall {
  id: string;
  /** The seq of its end, zero until then. */
  ended: number;
  message?: string;
  first_token_ms?: number;
  waited_ms?: number;
  duration_ms?: number;
  /** How long the provider asked to be left alone. */
  retry_after_ms?: number;
  tries?: wire.Schemas['Try'][];
}

export interface ApprovalRow extends wire.Approval {
  note?: string;
  /** When it was decided or came to its end. */
  decided_at?: string;
}

export interface QuestionRow extends wire.Question {
  answer?: string;
  answered_at?: string;
  /** The number of the message that answered it. */
  number?: number;
}

type Noted = wire.Schemas['Noted'];

/** A line for people, such as that the orchestrator answered an agent from what it knew. */
export interface NoteRow extends Noted {
  id: string;
  seq: number;
  at: string;
  agent?: string;
  task?: string;
}

/** A turn of an agent. It has a row when it has ended or its reply was voided. */
export interface TurnRow {
  id: string;
  /** The seq of its end; zero until then. */
  seq: number;
  agent: string;
  turn: number;
  status?: wire.Schemas['TurnEnd']['status'];
  error_kind?: string;
  reason?: string;
  by?: string;
  cut?: boolean;
  ended_at?: string;
  /** The seq at which its reply was made void. */
  voided?: number;
}

/** Somebody asked to stop a task, or everything. */
export interface StopRow {
  id: string;
  seq: number;
  at: string;
  by: string;
  task?: string;
}

/** A pattern that is approved for the rest of the conversation. */
export interface GrantRow {
  id: string;
  seq: number;
  tool: string;
  pattern?: string;
}

/** What people post belongs to no agent. */
export const messageId = (agent: string, message: string): string => `${agent}#${message}`;
export const toolCallId = (agent: string, call: string): string => `${agent}#${call}`;
export const modelCallId = (task: string, call: string): string => `${task}#${call}`;
export const turnId = (agent: string, turn: number): string => `${agent}#${turn}`;
