// The commands. Each may be given a key, so that what a person sends again by hand is the same command.

import { command } from './request';
import type { Answer, Approval, Body } from './types';

const at = (conversation: string) => `/v1/conversations/${encodeURIComponent(conversation)}`;

export function createConversation(body: Body<'createConversation'>, key?: string) {
  return command<Answer<'createConversation'>>('/v1/conversations', { body, ...keyed(key) });
}

export function postMessage(conversation: string, body: Body<'postMessage'>, key?: string) {
  const path = `${at(conversation)}/messages`;
  return command<Answer<'postMessage'>>(path, { body, ...keyed(key) });
}

/** Decides about exactly what was shown: the hash is that of the approval on the screen. */
export function decideApproval(
  conversation: string,
  shown: Pick<Approval, 'id' | 'hash'>,
  decision: Omit<Body<'decideApproval'>, 'hash'>,
  key?: string,
) {
  const path = `${at(conversation)}/approvals/${encodeURIComponent(shown.id)}/decision`;
  const body: Body<'decideApproval'> = { ...decision, hash: shown.hash };
  return command<Answer<'decideApproval'>>(path, { body, ...keyed(key) });
}

/** Stops one task with all below it, or everything. */
export function cancel(conversation: string, task?: string, key?: string) {
  const body: Body<'cancel'> = task === undefined ? {} : { task };
  return command<Answer<'cancel'>>(`${at(conversation)}/cancel`, { body, ...keyed(key) });
}

/** Lets everybody in the tenant see a private conversation, for good. */
export function shareConversation(conversation: string, key?: string) {
  return command<Answer<'shareConversation'>>(`${at(conversation)}/share`, keyed(key));
}

export function archiveConversation(conversation: string, key?: string) {
  return command<Answer<'archiveConversation'>>(`${at(conversation)}/archive`, keyed(key));
}

export function deleteConversation(conversation: string, key?: string) {
  const options = { method: 'DELETE', ...keyed(key) } as const;
  return command<Answer<'deleteConversation'>>(at(conversation), options);
}

const keyed = (key: string | undefined) => (key === undefined ? {} : { key });
