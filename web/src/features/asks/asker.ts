import { useEffect, useState } from 'react';
import { getAgent, listAgentMessages } from '../../api/reads';
import type { Approval } from '../../api/types';
import { saidIn } from '../../store/askselectors';

/** The call that waits is in the last message of its agent, or just before it. */
const LAST = 10;

/**
 * What an agent said when it made a call: what the store holds, or else what the server answers. It is the agent's word
 * and an addition: without it the card still shows all that is decided about.
 */
export function useSaid(
  conversation: string,
  approval: Pick<Approval, 'agent' | 'call'> | undefined,
  here: string | undefined,
): string | undefined {
  const [read, setRead] = useState<string>();
  const { agent, call } = approval ?? {};
  const missing = here === undefined;
  useEffect(() => {
    if (!missing || !agent || !call) return;
    const ended = new AbortController();
    void listAgentMessages(conversation, agent, { limit: LAST }, ended).then(
      (page) => setRead(saidIn(page.items, call)),
      () => undefined,
    );
    return () => ended.abort();
  }, [conversation, agent, call, missing]);
  return (here ?? read) || undefined;
}

/** An agent's id with those of all above it, the orchestrator first. */
export const lineage = (agent: string): string[] =>
  agent.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));

/** The roles from the orchestrator down to an agent of a conversation that is not open. */
export function useRolePath(conversation: string, agent: string, role: string): readonly string[] {
  const [path, setPath] = useState<readonly string[]>([role]);
  useEffect(() => {
    const above = lineage(agent).slice(0, -1);
    if (above.length === 0) return;
    const ended = new AbortController();
    void Promise.all(above.map((id) => getAgent(conversation, id, ended))).then(
      (agents) => setPath([...agents.map((each) => each.role), role]),
      () => undefined,
    );
    return () => ended.abort();
  }, [conversation, agent, role]);
  return path;
}
