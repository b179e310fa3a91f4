import { lazy, type RefObject, Suspense, useEffect, useState } from 'react';
import type { Approval } from '../../api/types';
import type { ApprovalRow, TaskRow } from '../../store/rows';
import { Button } from '../../ui/button';
import { plural } from '../../ui/format';
import { Actions } from './approvalactions';
import { useArmed } from './arm';
import { useDecision } from './decision';
import { DenyNote } from './denynote';
import { editable } from './editargs';
import type { KeyActions } from './keys';
import { approvalOutcome, type Outcome } from './outcome';
import { Asker, Card, Ended, Problem, Why } from './parts';
import { Sources } from './sources';
import { argumentsOf, coveredBy, isLong, type Subject, subjectOf } from './subject';
import { SubjectView } from './subjectview';

const EditArgs = lazy(() => import('./edit').then((module) => ({ default: module.EditArgs })));

export interface ApprovalProps {
  conversation: string;
  approval: ApprovalRow;
  /** From the orchestrator down to who asks. */
  roles: readonly string[];
  /** What the agent said when it made the call. */
  said: string | undefined;
  task: TaskRow | undefined;
  me: string | undefined;
  keys: RefObject<KeyActions>;
  /** Where on the page it is, as far as others can move it. It arms anew when it was moved. */
  place?: string;
  /** The person has decided, or has seen what became of it. */
  onDone: () => void;
}

/** Something that an agent wants to do. What is decided is exactly what is on the screen. */
export function ApprovalCard(props: ApprovalProps) {
  const { approval, roles, said, me, task, onDone } = props;
  const subject = subjectOf(approval);
  const changed = useChanged(approval.hash);
  const [whole, setWhole] = useState<string>();
  const cut = isLong(subject) && whole !== approval.hash;
  const [elsewhere, setElsewhere] = useState<Approval>();
  const outcome = approvalOutcome(latest(approval, elsewhere), { me, task });
  const why = subject.why ?? said;
  return (
    <Card
      actions={
        outcome ? (
          <Over
            outcome={outcome}
            tried={elsewhere !== undefined}
            onDone={onDone}
            keys={props.keys}
          />
        ) : (
          <Choices
            {...props}
            subject={subject}
            cut={cut}
            onElsewhere={setElsewhere}
            key={approval.hash}
          />
        )
      }
    >
      <Asker roles={roles} until={outcome ? undefined : approval.until} />
      {why && <Why role={roles.at(-1) ?? ''} text={why} />}
      <Sources sources={approval.sources} />
      {changed && !outcome && (
        <p className="font-medium text-sm">This changed while it was shown. Look at it again.</p>
      )}
      <SubjectView
        conversation={props.conversation}
        subject={subject}
        tool={approval.tool}
        cut={cut}
      />
      {cut && (
        <Button size="small" onClick={() => setWhole(approval.hash)}>
          Show all of it, {plural(JSON.stringify(approval.show).length, 'character')}
        </Button>
      )}
      {subject.kind === 'unknown' && !outcome && (
        <p className="text-fg-2 text-sm">
          What it would do is not known here, so it can only be denied.
        </p>
      )}
    </Card>
  );
}

/** What is known last: the row, or what the server said when a decision came too late. */
function latest(row: ApprovalRow, elsewhere: Approval | undefined): ApprovalRow {
  return row.status === 'open' && elsewhere?.hash === row.hash ? { ...row, ...elsewhere } : row;
}

/** Whether a card's content is another one than when it appeared. */
function useChanged(hash: string): boolean {
  const [first] = useState(hash);
  return first !== hash;
}

function Over({
  outcome,
  tried,
  onDone,
  keys,
}: {
  outcome: Outcome;
  tried: boolean;
  onDone: () => void;
  keys: RefObject<KeyActions>;
}) {
  useEffect(() => {
    keys.current = {};
  }, [keys]);
  return (
    <Ended
      outcome={outcome}
      lead={tried ? 'Your decision came too late. Nothing of it was done.' : undefined}
    >
      <Button onClick={onDone}>Close</Button>
    </Ended>
  );
}

type Mode = 'look' | 'deny' | 'edit';

function Choices({
  conversation,
  approval,
  me,
  keys,
  subject,
  cut,
  place = '',
  onElsewhere,
  onDone,
}: ApprovalProps & {
  subject: Subject;
  cut: boolean;
  onElsewhere: (after: Approval) => void;
}) {
  const [mode, setMode] = useState<Mode>('look');
  const armed = useArmed(`${approval.id} ${approval.hash} ${mode} ${place}`);
  const { sending, problem, elsewhere, decide, forget } = useDecision(
    conversation,
    approval,
    me,
    onDone,
  );
  useEffect(() => {
    if (elsewhere) onElsewhere(elsewhere);
  }, [elsewhere, onElsewhere]);
  const shown = argumentsOf(approval.show);
  const args = shown && editable(approval.tool, shown) ? shown : undefined;
  const ready = armed && !sending;
  const back = () => {
    forget();
    setMode('look');
  };
  return (
    <>
      {mode === 'look' && (
        <Actions
          ready={ready}
          sending={sending}
          known={subject.kind !== 'unknown'}
          // The words of a grant are what it covers, so there is none for what is not seen whole.
          covers={cut ? [] : coveredBy(approval, subject)}
          keys={keys}
          onAllow={(scope) => void decide({ allow: true, scope })}
          onEdit={args ? () => setMode('edit') : undefined}
          onDeny={() => setMode('deny')}
        />
      )}
      {mode === 'deny' && (
        <DenyNote
          ready={ready}
          keys={keys}
          onBack={back}
          onDeny={(note) => void decide({ allow: false, ...(note ? { note } : {}) })}
        />
      )}
      {mode === 'edit' && args && (
        <Suspense>
          <EditArgs
            args={args}
            ready={ready}
            keys={keys}
            onBack={back}
            onChange={forget}
            onAllow={(changed) => void decide({ allow: true, ...changed })}
          />
        </Suspense>
      )}
      {problem && <Problem {...problem} />}
    </>
  );
}
