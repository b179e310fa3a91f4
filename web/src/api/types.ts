// The names of the wire, taken from the document that the server serves. Nothing here is written by hand that could be derived.

import type { components, operations } from '../generated/api';

export type Schemas = components['schemas'];

export type Conversation = Schemas['Conversation'];
export type Message = Schemas['Message'];
export type Part = Schemas['Part'];
export type Agent = Schemas['Agent'];
export type Task = Schemas['Task'];
export type ToolCall = Schemas['ToolCall'];
export type ModelCall = Schemas['ModelCall'];
export type Approval = Schemas['Approval'];
export type Question = Schemas['Question'];
export type Snapshot = Schemas['Snapshot'];
export type Usage = Schemas['Usage'];
export type Waiting = Schemas['Waiting'];
export type RoleInfo = Schemas['Role'];
export type Me = Schemas['Me'];
export type Problem = Schemas['Problem'];
export type Delta = Schemas['Delta'];
export type Resync = Schemas['Resync'];
export type Cut = Schemas['Cut'];

export type TaskStatus = Task['status'];
export type ToolStatus = ToolCall['status'];

/** What happened in a conversation and is recorded. */
export type Event = Extract<Schemas['StreamEvent'], { seq: number; type: string; data: unknown }>;

/** The data of one type of event. */
export type DataOf<T extends Event['type']> = Extract<Event, { type: T }>['data'];

/** What a conversation's stream says, recorded or not. */
export type StreamEvent = Schemas['StreamEvent'];

/** What the stream of the list and the inbox says. */
export type ListEvent = Schemas['ListEvent'];

/** What an operation answers when all is well. */
export type Answer<O extends keyof operations> = operations[O]['responses'] extends infer R
  ? R extends { 200: { content: { 'application/json': infer B } } }
    ? B
    : R extends { 201: { content: { 'application/json': infer B } } }
      ? B
      : R extends { 202: { content: { 'application/json': infer B } } }
        ? B
        : never
  : never;

/** The body that an operation takes. */
export type Body<O extends keyof operations> = operations[O] extends {
  requestBody: { content: { 'application/json': infer B } };
}
  ? B
  : never;

/** What may follow the question mark in an operation's address. */
export type Query<O extends keyof operations> = NonNullable<operations[O]['parameters']['query']>;
