// Everything that can be read. An agent's id is a path; in an address its slashes are written ~.

import type { operations } from '../generated/api';
import { send } from './request';
import type { Answer, Query } from './types';

type Reading = { signal?: AbortSignal };

const at = (conversation: string) => `/v1/conversations/${encodeURIComponent(conversation)}`;
const agentAt = (conversation: string, agent: string) =>
  `${at(conversation)}/agents/${encodeURIComponent(agent.replaceAll('/', '~'))}`;

function get<O extends keyof operations>(path: string, query?: object, reading?: Reading) {
  return send<Answer<O>>(path, {
    query: query as Record<string, string | number | boolean | undefined> | undefined,
    signal: reading?.signal,
  });
}

export const getMe = (reading?: Reading) => get<'getMe'>('/v1/me', undefined, reading);
/** Who we are, or a failure if the server does not know. */
export const probeMe = () => send<Answer<'getMe'>>('/v1/me', { probe: true });
export const listConversations = (query?: Query<'listConversations'>, reading?: Reading) =>
  get<'listConversations'>('/v1/conversations', query, reading);
export const getConversation = (conversation: string, reading?: Reading) =>
  get<'getConversation'>(at(conversation), undefined, reading);
export const listMessages = (
  conversation: string,
  query?: Query<'listMessages'>,
  reading?: Reading,
) => get<'listMessages'>(`${at(conversation)}/messages`, query, reading);
export const getAgent = (conversation: string, agent: string, reading?: Reading) =>
  get<'getAgent'>(agentAt(conversation, agent), undefined, reading);
export const listAgentMessages = (
  conversation: string,
  agent: string,
  query?: Query<'listAgentMessages'>,
  reading?: Reading,
) => get<'listAgentMessages'>(`${agentAt(conversation, agent)}/messages`, query, reading);
export const listToolCalls = (
  conversation: string,
  agent: string,
  query?: Query<'listToolCalls'>,
  reading?: Reading,
) => get<'listToolCalls'>(`${agentAt(conversation, agent)}/tool-calls`, query, reading);
export const getToolCall = (
  conversation: string,
  agent: string,
  call: string,
  reading?: Reading,
) => {
  const path = `${agentAt(conversation, agent)}/tool-calls/${encodeURIComponent(call)}`;
  return get<'getToolCall'>(path, undefined, reading);
};
export const listModelCalls = (
  conversation: string,
  agent: string,
  query?: Query<'listModelCalls'>,
  reading?: Reading,
) => get<'listModelCalls'>(`${agentAt(conversation, agent)}/model-calls`, query, reading);
export const getApproval = (conversation: string, approval: string, reading?: Reading) =>
  get<'getApproval'>(
    `${at(conversation)}/approvals/${encodeURIComponent(approval)}`,
    undefined,
    reading,
  );
export const listQuestions = (conversation: string, reading?: Reading) =>
  get<'listQuestions'>(`${at(conversation)}/questions`, undefined, reading);
export const getModelCall = (
  conversation: string,
  agent: string,
  call: string,
  query?: Query<'getModelCall'>,
  reading?: Reading,
) => {
  const path = `${agentAt(conversation, agent)}/model-calls/${encodeURIComponent(call)}`;
  return get<'getModelCall'>(path, query, reading);
};
export const listInbox = (query?: Query<'listInbox'>, reading?: Reading) =>
  get<'listInbox'>('/v1/inbox', query, reading);
export const search = (query: Query<'search'>, reading?: Reading) =>
  get<'search'>('/v1/search', query, reading);
export const getText = (conversation: string, hash: string, reading?: Reading) =>
  get<'getText'>(`${at(conversation)}/texts/${encodeURIComponent(hash)}`, undefined, reading);
export const listRoles = (query?: Query<'listRoles'>, reading?: Reading) =>
  get<'listRoles'>('/v1/roles', query, reading);
export const getConversationUsage = (
  conversation: string,
  query: Query<'getConversationUsage'>,
  reading?: Reading,
) => get<'getConversationUsage'>(`${at(conversation)}/usage`, query, reading);
export const getUsage = (query: Query<'getUsage'>, reading?: Reading) =>
  get<'getUsage'>('/v1/usage', query, reading);
