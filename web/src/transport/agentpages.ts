import { getAgent, listAgentMessages, listModelCalls, listToolCalls } from '../api/reads';
import type { Schemas } from '../api/types';
import {
  loadModelCall,
  loadToolCall,
  loadTranscriptMessage,
  loadWholeTask,
} from '../store/loadcalls';
import { store } from '../store/store';

/** Where the pages before those that were read begin; undefined when there are none. */
export interface Earlier {
  messages?: number | undefined;
  calls?: number | undefined;
}

const PAGE = 100;

/** Reads one page of what an agent said and used tools for into the store: the last one, or the one before. */
export async function readTranscriptPage(
  conversation: string,
  agent: string,
  from: Earlier | undefined,
  signal: AbortSignal,
): Promise<Earlier> {
  const { seq } = store.conversation(conversation);
  const query = (before: number | undefined) => ({
    limit: PAGE,
    ...(before === undefined ? {} : { before }),
  });
  const wanted = (before: number | undefined) => from === undefined || before !== undefined;
  const [messages, calls] = await Promise.all([
    wanted(from?.messages)
      ? listAgentMessages(conversation, agent, query(from?.messages), { signal })
      : undefined,
    wanted(from?.calls)
      ? listToolCalls(conversation, agent, query(from?.calls), { signal })
      : undefined,
  ]);
  store.change((all) => {
    const state = all.conversation(conversation);
    for (const message of messages?.items ?? []) loadTranscriptMessage(state, message);
    for (const call of calls?.items ?? []) loadToolCall(state, call, seq);
  });
  return { messages: messages?.before, calls: calls?.before };
}

/** Reads one page of an agent's model calls into the store, and says where the one before it begins. */
export async function readModelCallPage(
  conversation: string,
  agent: string,
  before: number | undefined,
  signal: AbortSignal,
): Promise<number | undefined> {
  const query = { limit: PAGE, ...(before === undefined ? {} : { before }) };
  const page = await listModelCalls(conversation, agent, query, { signal });
  store.change((all) => {
    const state = all.conversation(conversation);
    for (const call of page.items) loadModelCall(state, call);
  });
  return page.before;
}

/** Reads an agent with its tasks, whole, and how it is set up. What belongs to its tasks goes into the store. */
export async function readAgent(
  conversation: string,
  agent: string,
  signal: AbortSignal,
): Promise<Schemas['AgentView']> {
  const found = await getAgent(conversation, agent, { signal });
  store.change((all) => {
    for (const task of found.tasks) loadWholeTask(all.conversation(conversation), task);
  });
  return found;
}
