import { Clock3, Pencil } from 'lucide-react';
import { queued } from '../../store/chat';
import { useConversation } from '../../store/hooks';
import type { MessageRow } from '../../store/rows';
import { messageState } from '../../store/selectors';
import { writeInComposer } from './draft';
import { textsOf } from './row';

/** What is recorded cannot be changed, but it can be put right before it is read. */
export const correctionOf = (message: MessageRow): string =>
  `Correction to what I just said: ${textsOf(message).join('\n\n')}`;

const states = {
  received: 'Sent',
  delivered: 'Will be read before the orchestrator’s next step',
  read: 'Read',
} as const;

/** What was said while the orchestrator is at work, until it reads it. */
export function Queue({ conversation }: { conversation: string }) {
  const messages = useConversation(conversation, queued);
  if (messages.length === 0) return null;
  return (
    <ul aria-label="Queued messages" className="max-h-40 space-y-1 overflow-y-auto">
      {messages.map((message) => (
        <Queued key={message.id} conversation={conversation} message={message} />
      ))}
    </ul>
  );
}

function Queued({ conversation, message }: { conversation: string; message: MessageRow }) {
  const how = useConversation(conversation, (state) => messageState(state, message));
  return (
    <li className="flex min-h-8 items-center gap-2 rounded-lg border border-dashed border-line-strong bg-surface py-1 pr-1 pl-3 text-sm">
      <Clock3 className="size-3.5 shrink-0 text-fg-3" aria-hidden="true" />
      <span className="min-w-0 flex-1 truncate">{textsOf(message).join(' ')}</span>
      <span className="shrink-0 text-fg-3 text-xs max-sm:hidden">{states[how]}</span>
      <button
        type="button"
        onClick={() => writeInComposer(conversation, correctionOf(message))}
        className="touch inline-flex h-6 shrink-0 items-center gap-1 rounded-sm px-1.5 text-fg-2 text-xs hover:bg-active hover:text-fg"
      >
        <Pencil className="size-3" aria-hidden="true" />
        Correct
      </button>
    </li>
  );
}
