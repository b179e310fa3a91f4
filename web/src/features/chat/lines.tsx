import { Ban, CircleAlert, CornerDownRight, Reply, TimerOff } from 'lucide-react';
import { memo } from 'react';
import { isWhole } from '../../store/chat';
import { useConversation } from '../../store/hooks';
import type { NoteRow, TurnRow } from '../../store/rows';
import { orchestrator } from '../../store/selectors';
import { Button } from '../../ui/button';
import { whyEnded } from '../../ui/ended';
import { roleName } from '../../ui/role';
import { toastError } from '../../ui/toast';
import { visible } from '../../ui/visible';
import { writeInComposer } from './draft';
import { exportConversation } from './export';
import type { Older } from './older';
import { useDoing } from './ticker';

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' });

/** The top of what is there: the beginning, or a place where more is read. */
export const Beginning = memo(function Beginning({
  conversation,
  older,
}: {
  conversation: string;
  older: Older;
}) {
  const whole = useConversation(conversation, isWhole);
  const opened = useConversation(conversation, (state) => state.conversation?.opened_at);
  return (
    <div className="absolute inset-x-0 top-0 flex h-10 items-center justify-center gap-3 text-fg-3 text-xs">
      {whole && opened && day.format(new Date(opened))}
      {whole && (
        <Button
          look="ghost"
          onClick={() => void exportConversation(conversation).catch(toastError)}
        >
          Export
        </Button>
      )}
      {!whole && older.problem && <p>Earlier messages could not be read. {older.problem}</p>}
      {!whole && older.loading && 'Reading earlier messages…'}
      {!whole && !older.loading && (
        <Button look="ghost" onClick={() => void older.load()}>
          {older.problem ? 'Try again' : 'Read earlier messages'}
        </Button>
      )}
    </div>
  );
});

/** What happened to a question or a message, without the person having to do anything. */
export function NoteLine({ conversation, note }: { conversation: string; note: NoteRow }) {
  const question = useConversation(conversation, (state) =>
    note.question === undefined ? undefined : state.questions.get(note.question),
  );
  const role = useConversation(conversation, (state) =>
    question ? state.agents.get(question.agent)?.role : undefined,
  );
  const who = role ? roleName(role) : 'an agent';
  const answer = note.text ?? question?.answer;
  const auto = note.note === 'auto_answered';
  return (
    <div className="flex items-start gap-2 pb-3 text-fg-3 text-sm">
      <Reply className="mt-[3px] size-3.5 shrink-0" aria-hidden="true" />
      <div className="min-w-0 flex-1">
        <p>{words(note.note, who)}</p>
        {auto && question?.text && (
          <p className="mt-0.5 text-fg-2">
            <span className="text-fg-3">Asked:</span> {visible(question.text)}
          </p>
        )}
        {auto && answer && (
          <p className="mt-0.5 text-fg-2">
            <span className="text-fg-3">Answered:</span> {visible(answer)}
          </p>
        )}
      </div>
      {auto && (
        <button
          type="button"
          onClick={() => writeInComposer(conversation, correction(who, question?.text, answer))}
          className="touch inline-flex h-6 shrink-0 items-center rounded-sm px-1.5 text-xs hover:bg-active hover:text-fg"
        >
          Correct…
        </button>
      )}
    </div>
  );
}

function words(note: string, who: string): string {
  switch (note) {
    case 'auto_answered':
      return `Answered ${who} from context`;
    case 'forwarded':
      return `Passed your answer on to ${who}`;
    case 'kept_as_request':
      return 'Took your message as a new request. What was asked stays open.';
    case 'which_question':
      return 'More than one question is open. Answer the one you mean.';
    case 'already_answered':
      return `Another answer to ${who} came first. Yours was kept in the conversation.`;
    case 'question_closed':
      return `The question of ${who} ended before your answer came.`;
    default:
      return note.replaceAll('_', ' ');
  }
}

/** An answer cannot be taken back, but it can be put right. */
export function correction(who: string, asked: string | undefined, answer: string | undefined) {
  const told = answer ? `it was told “${answer}”` : 'it was answered without me';
  const when = asked ? ` when it asked “${asked}”` : '';
  return `Correction for ${who}: ${told}${when}. Instead: `;
}

/** How a turn ended that did not end well. */
export function EndRow({ end }: { end: TurnRow }) {
  const stopped = end.status === 'cancelled';
  const timed = end.status === 'timed_out';
  const Icon = stopped ? Ban : timed ? TimerOff : CircleAlert;
  const why = whyEnded(end.error_kind, end.reason);
  const by = end.by && end.by !== 'you' && end.by !== 'user' ? end.by : 'you';
  return (
    <div
      data-s={stopped ? 'quiet' : timed ? 'limit' : 'failed'}
      className="st flex items-start gap-2 pb-3 text-sm"
    >
      <Icon className="st-fg mt-[3px] size-3.5 shrink-0" aria-hidden="true" />
      <p className={stopped ? 'text-fg-3' : 'st-fg'}>
        {stopped && `Stopped by ${by}. What was done until then was kept.`}
        {timed && 'The orchestrator reached its time limit. What was done until then was kept.'}
        {!stopped && !timed && `Couldn’t continue. ${why} Nothing is lost.`}
        {!stopped && ' Send a message to continue.'}
      </p>
    </div>
  );
}

/** The orchestrator is at work and has said nothing yet. */
export function WorkingRow({ conversation }: { conversation: string }) {
  const what = useDoing(conversation, orchestrator);
  return (
    <p className="flex items-center gap-1.5 pb-3 text-fg-2 text-sm">
      <CornerDownRight className="size-3.5 shrink-0 text-fg-3" aria-hidden="true" />
      <span className="caret truncate">{what || 'Thinking'}</span>
    </p>
  );
}
