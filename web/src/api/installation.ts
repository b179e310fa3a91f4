// What is not of one conversation: roles, runs, settings, and the people and keys of a server that has them.

import type { operations } from '../generated/api';
import { send } from './request';
import type { Answer, Body, Query, Schemas } from './types';

type Reading = { signal?: AbortSignal };
type Values = Record<string, string | number | boolean | undefined>;

const get = <O extends keyof operations>(path: string, query?: object, reading?: Reading) =>
  send<Answer<O>>(path, { query: query as Values | undefined, signal: reading?.signal });

export type Role = Schemas['Role'];
export type Run = Schemas['TaskLine'];
export type Settings = Schemas['Settings'];
export type Quotas = Schemas['Quotas'];
export type ApiKey = Schemas['APIKey'];
export type NewApiKey = Schemas['MadeAPIKey'];
export type Member = Schemas['Member'];

export const getRole = (role: string, reading?: Reading) =>
  get<'getRole'>(`/v1/roles/${encodeURIComponent(role)}`, undefined, reading);
export const listRuns = (query?: Query<'listAllTasks'>, reading?: Reading) =>
  get<'listAllTasks'>('/v1/tasks', query, reading);
export const getSettings = (reading?: Reading) =>
  get<'getSettings'>('/v1/settings', undefined, reading);

export const getQuotas = (reading?: Reading) => get<'getQuotas'>('/v1/quotas', undefined, reading);

export const listKeys = (reading?: Reading) => get<'listKeys'>('/v1/keys', undefined, reading);
export const createKey = (body: Body<'createKey'>) =>
  send<NewApiKey>('/v1/keys', { method: 'POST', body });
export const revokeKey = (key: string) =>
  send<void>(`/v1/keys/${encodeURIComponent(key)}`, { method: 'DELETE' });

const memberAt = (member: string) => `/v1/members/${encodeURIComponent(member)}`;
export const listMembers = (reading?: Reading) =>
  get<'listMembers'>('/v1/members', undefined, reading);
export const addMember = (body: Body<'addMember'>) =>
  send<Member>('/v1/members', { method: 'POST', body });
export const removeMember = (member: string) => send<void>(memberAt(member), { method: 'DELETE' });
export const changeMember = (member: string, role: Member['role']) =>
  send<unknown>(`${memberAt(member)}/role`, { method: 'PUT', body: { role } });
export const listFiles = (query: Query<'listFiles'>, reading?: Reading) =>
  get<'listFiles'>('/v1/files', query, reading);
