import { useEffect, useRef, useState } from 'react';
import { getConversation, getConversationUsage } from '../../api/reads';
import type { Answer } from '../../api/types';
import { isLive } from '../../store/activity';
import type { ConversationState } from '../../store/conversation';
import { useConversation } from '../../store/hooks';

export type By = 'agent' | 'role' | 'model' | 'turn';
export type Sums = Answer<'getConversationUsage'>;

export interface Bill {
  by: By;
  sums: Sums;
  roles: Sums;
  /** Reserved for calls under way. */
  held: number;
}

/** It is read again when something was used, but not more often than this. */
const PAUSE = 3_000;

/** What was used, as the server sums it up. */
export function useBill(conversation: string, by: By) {
  const [bill, setBill] = useState<Bill>();
  const [error, setError] = useState<unknown>();
  const [again, setAgain] = useState(0);
  const calls = useConversation(conversation, callsSeen);
  const live = useConversation(conversation, isLive);
  const last = useRef({ at: 0, by });
  // biome-ignore lint/correctness/useExhaustiveDependencies: calls and again say when to read anew
  useEffect(() => {
    const ended = new AbortController();
    const since = Date.now() - last.current.at;
    const wait = last.current.by === by ? Math.max(0, PAUSE - since) : 0;
    const timer = setTimeout(() => {
      last.current = { at: Date.now(), by };
      read(conversation, by, live, ended.signal).then(
        (next) => {
          setBill(next);
          setError(undefined);
        },
        (problem) => ended.signal.aborted || setError(problem),
      );
    }, wait);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [conversation, by, calls, live, again]);
  const fits = bill?.by === by ? bill : undefined;
  return { bill: fits, error, retry: () => setAgain((n) => n + 1) };
}

/** Changes when a call begins or ends. */
const callsSeen = (state: ConversationState): string => {
  const rows = state.modelCalls.all();
  return `${rows.length} ${rows.filter((call) => call.ended > 0).length} ${state.spent?.seq ?? 0}`;
};

async function read(
  conversation: string,
  by: By,
  live: boolean,
  signal: AbortSignal,
): Promise<Bill> {
  const sums = getConversationUsage(conversation, { by }, { signal });
  const roles =
    by === 'role' ? sums : getConversationUsage(conversation, { by: 'role' }, { signal });
  // Only what is at work holds anything.
  const held = live
    ? getConversation(conversation, { signal }).then((s) => s.held_micro_usd)
    : Promise.resolve(0);
  const [a, b, c] = await Promise.all([sums, roles, held]);
  return { by, sums: a, roles: b, held: c };
}
