import { useRef, useState } from 'react';
import { decideApproval } from '../../api/commands';
import { explain, ProblemError, transient } from '../../api/problem';
import { getApproval } from '../../api/reads';
import { newKey } from '../../api/request';
import type { Approval, Body } from '../../api/types';
import { announce } from '../../ui/announcer';

export type Decision = Omit<Body<'decideApproval'>, 'hash'>;

interface Said {
  what: string;
  next: string;
}

/** What to do about arguments that the server does not take. */
const CHANGE = 'Change them, or go back and decide about the call as it is.';

/** One decision about what is shown, sent once however often it is tried. */
export function useDecision(
  conversation: string,
  approval: Pick<Approval, 'id' | 'hash'>,
  me: string | undefined,
  onDone: (after: Approval) => void,
) {
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<Said>();
  const [elsewhere, setElsewhere] = useState<Approval>();
  const busy = useRef(false);
  const sent = useRef<{ what: string; key: string }>(undefined);

  const conflicted = async (error: unknown): Promise<void> => {
    const now = await getApproval(conversation, approval.id).catch(() => undefined);
    if (now && now.status !== 'open') return setElsewhere(now);
    setProblem({ ...explain(error), next: 'Look at what is asked now, then decide again.' });
  };

  const send = async (decision: Decision, key: string): Promise<void> => {
    try {
      const after = await decideApproval(conversation, approval, decision, key);
      // Somebody who decided the same before was first.
      if (me && after.by && after.by !== me) return setElsewhere(after);
      announce(decision.args ? 'Allowed with changes.' : decision.allow ? 'Allowed.' : 'Denied.');
      onDone(after);
    } catch (error) {
      if (!transient(error)) sent.current = undefined;
      const status = error instanceof ProblemError ? error.status : undefined;
      if (status === 409) await conflicted(error);
      else if (status === 422 && decision.args) setProblem({ ...explain(error), next: CHANGE });
      else setProblem(explain(error));
    }
  };

  const decide = async (decision: Decision): Promise<void> => {
    if (busy.current) return;
    busy.current = true;
    setSending(true);
    setProblem(undefined);
    const what = JSON.stringify([approval.id, approval.hash, decision]);
    if (sent.current?.what !== what) sent.current = { what, key: newKey() };
    await send(decision, sent.current.key);
    busy.current = false;
    setSending(false);
  };

  /** A person who goes about it differently need not read any more what was wrong before. */
  const forget = () => setProblem(undefined);
  return { sending, problem, elsewhere, decide, forget };
}
