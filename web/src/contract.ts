// How the generated types are used, kept so that the compiler says when a change of the API breaks it.

import type { components, operations } from "./generated/api";

type Schemas = components["schemas"];

/** What happened in a conversation and is recorded. */
export type Event = Extract<Schemas["StreamEvent"], { seq: number; type: string; data: unknown }>;

/** The data of one type of event. */
export type DataOf<T extends Event["type"]> = Extract<Event, { type: T }>["data"];

/** What an operation answers when all is well. */
export type Answer<O extends keyof operations> = operations[O]["responses"] extends infer R
  ? R extends { 200: { content: { "application/json": infer B } } }
    ? B
    : R extends { 201: { content: { "application/json": infer B } } }
      ? B
      : R extends { 202: { content: { "application/json": infer B } } }
        ? B
        : never
  : never;

/** One line for people about an event. */
export function line(e: Event): string {
  switch (e.type) {
    case "message.completed":
      return e.data.parts.map((p) => p.text ?? "").join("");
    case "agent.spawned":
      return `${e.data.role}: ${e.data.instruction ?? ""}`;
    case "agent.failed":
      return e.data.message ?? e.data.status;
    case "approval.requested":
      return `${e.data.tool} wants approval (${e.data.hash})`;
    case "turn.completed":
      return `turn ${e.data.turn}`;
    default:
      return e.type;
  }
}

/** All that waits for a person, out of a snapshot. */
export function waiting(s: Answer<"getConversation">): number {
  return (
    s.approvals.filter((a) => a.status === "open").length +
    s.questions.filter((q) => q.status === "relayed").length
  );
}

/** The body of a decision about an approval, as it was shown. */
export function decision(a: Schemas["Approval"], allow: boolean): Schemas["DecideInputBody"] {
  return { allow, hash: a.hash };
}

/** The title of a new conversation, which may have none. */
export const title = (c: Answer<"createConversation">): string => c.title;

/** How long to wait and what to say after a refusal. */
export const refusal = (p: Schemas["Problem"]): string => `${p.detail ?? p.title}: ${p.next ?? ""}`;

/** What a delta adds to a message. */
export const delta = (d: Schemas["Delta"]): string => d.text ?? "";

/** Whether a data type is narrowed to that of its event. */
export const ended: DataOf<"turn.failed">["status"] = "failed";
