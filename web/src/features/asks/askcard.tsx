import type { RefObject } from 'react';
import { personOfMessage, rolePath, saidWithCall, taskById } from '../../store/askselectors';
import { useConversation } from '../../store/hooks';
import type { ApprovalRow, QuestionRow } from '../../store/rows';
import type { Ask } from '../../store/selectors';
import { ApprovalCard } from './approval';
import { useSaid } from './asker';
import type { KeyActions } from './keys';
import { useMyName } from './me';
import { QuestionCard } from './question';

interface Props {
  conversation: string;
  ask: Ask;
  keys: RefObject<KeyActions>;
  onDone: (number?: number) => void;
}

/** The card of an ask in an open conversation. */
export function AskCard({ ask, ...rest }: Props) {
  if (ask.kind === 'approval') return <Approving {...rest} approval={ask.approval} />;
  return <Asking {...rest} question={ask.question} />;
}

type Of<T> = Omit<Props, 'ask'> & T;

function Approving({ conversation, approval, onDone, ...rest }: Of<{ approval: ApprovalRow }>) {
  const { agent, call } = approval;
  const path = useConversation(conversation, (state) => rolePath(state, agent));
  const here = useConversation(conversation, (state) => saidWithCall(state, agent, call));
  const said = useSaid(conversation, approval, here);
  const task = useConversation(conversation, (state) => taskById(state, approval.task));
  const me = useMyName();
  return (
    <ApprovalCard
      {...rest}
      conversation={conversation}
      approval={approval}
      roles={path.split('\n')}
      said={said}
      task={task}
      me={me}
      onDone={() => onDone()}
    />
  );
}

function Asking({ conversation, question, ...rest }: Of<{ question: QuestionRow }>) {
  const path = useConversation(conversation, (state) => rolePath(state, question.agent));
  const task = useConversation(conversation, (state) => taskById(state, question.task));
  const person = useConversation(conversation, (state) => personOfMessage(state, question.number));
  const me = useMyName();
  return (
    <QuestionCard
      {...rest}
      conversation={conversation}
      question={question}
      roles={path.split('\n')}
      task={task}
      person={person}
      me={me}
    />
  );
}
