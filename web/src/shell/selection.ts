import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { ConversationSearch } from './search';

/** The conversation that the address names. Only for what is below /c/$id. */
export function useConversationId(): string {
  return useParams({ strict: false }).id ?? '';
}

/** The agent whose inspector is open. */
export function useSelectedAgent(): string | undefined {
  return (useSearch({ strict: false }) as ConversationSearch).agent;
}

/** The ask that the dock shows. */
export function useSelectedAsk(): string | undefined {
  return (useSearch({ strict: false }) as ConversationSearch).ask;
}

/** Opens an agent's inspector, or closes it; the rest of the address stays. */
export function useSelectAgent(): (agent: string | undefined) => void {
  const navigate = useNavigate();
  return useCallback(
    (agent) => {
      const search = (before: ConversationSearch) => {
        const { agent: _, tab, ...rest } = before;
        if (agent === undefined) return rest;
        return { ...rest, agent, ...(tab === undefined ? {} : { tab }) };
      };
      void navigate({ to: '.', search } as never);
    },
    [navigate],
  );
}

/** Which view of the open agent is seen. */
export function useSelectedTab(): string | undefined {
  return (useSearch({ strict: false }) as ConversationSearch).tab;
}

/** Shows another view of the open agent. Going back leaves the inspector, not the view. */
export function useSelectTab(): (tab: string | undefined) => void {
  const navigate = useNavigate();
  return useCallback(
    (tab) => {
      const search = (before: ConversationSearch) => {
        const { tab: _, ...rest } = before;
        return tab === undefined ? rest : { ...rest, tab };
      };
      void navigate({ to: '.', search, replace: true } as never);
    },
    [navigate],
  );
}
