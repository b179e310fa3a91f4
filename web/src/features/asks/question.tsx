import { Pencil } from 'lucide-react';
import { type RefObject, useEffect, useId, useRef, useState } from 'react';
import { postMessage } from '../../api/commands';
import { explain, transient } from '../../api/problem';
import { newKey } from '../../api/request';
import { ActionKeys } from '../../shell/keys/keycap';
import type { QuestionRow, TaskRow } from '../../store/rows';
import { announce } from '../../ui/announcer';
import { Button } from '../../ui/button';
import { cx } from '../../ui/classes';
import { Exact } from '../../ui/exact';
import { useArmed } from './arm';
import { type AnswerDraft, dropDraft, useDraft } from './draft';
import { type KeyActions, SUBMIT } from './keys';
import { Option, optionOf } from './option';
import { questionOutcome } from './outcome';
import { Asker, Card, Decide, Ended, Problem } from './parts';

export interface QuestionProps {
  conversation: string;
  question: QuestionRow;
  roles: readonly string[];
  task: TaskRow | undefined;
  me: string | undefined;
  /** Who answered it, once somebody has. */
  person: string | undefined;
  keys: RefObject<KeyActions>;
  /** Where on the page it is, as far as others can move it. It arms anew when it was moved. */
  place?: string;
  /** The person has answered with this message, or has seen what became of it. */
  onDone: (number?: number) => void;
}

/** Something that an agent wants to know. */
export function QuestionCard(props: QuestionProps) {
  const { conversation, question, roles, person, me, task, onDone } = props;
  const name = `${conversation} ${question.id}`;
  const outcome = questionOutcome(question, person, { me, task });
  return outcome ? (
    <Card
      actions={
        <Ended outcome={outcome}>
          <Button
            onClick={() => {
              dropDraft(name);
              onDone();
            }}
          >
            Close
          </Button>
        </Ended>
      }
    >
      <Asker roles={roles} until={undefined} />
      <Asked text={question.text ?? ''} />
    </Card>
  ) : (
    <Answer {...props} name={name} />
  );
}

function Asked({ text, id }: { text: string; id?: string }) {
  const [first = '', ...rest] = text.split('\n');
  return (
    <div id={id}>
      <p className="wrap-anywhere font-medium text-prose">
        <Exact text={first} />
      </p>
      {rest.length > 0 && (
        <p className="wrap-anywhere mt-0.5 whitespace-pre-wrap text-fg-2 text-sm">
          <Exact text={rest.join('\n')} />
        </p>
      )}
    </div>
  );
}

/** What the draft says, as it would be sent. Nothing while it says nothing. */
export function answerOf(draft: AnswerDraft, options: readonly string[]): string | undefined {
  if (draft.pick === 'other' || options.length === 0) return draft.text.trim() || undefined;
  return draft.pick === undefined ? undefined : options[draft.pick];
}

const LEFT = 'I leave this to you.';

function useAnswer(conversation: string, question: string, onSent: (number?: number) => void) {
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<{ what: string; next: string }>();
  const busy = useRef(false);
  const sent = useRef<{ what: string; key: string }>(undefined);
  const send = async (text: string, decline: boolean) => {
    if (busy.current) return;
    busy.current = true;
    setSending(true);
    setProblem(undefined);
    const what = JSON.stringify([question, text, decline]);
    if (sent.current?.what !== what) sent.current = { what, key: newKey() };
    try {
      const body = { text, in_reply_to: question, ...(decline ? { decline } : {}) };
      const message = await postMessage(conversation, body, sent.current.key);
      announce(decline ? 'Left to the orchestrator.' : 'Answered.');
      onSent(message.number);
    } catch (error) {
      if (!transient(error)) sent.current = undefined;
      setProblem(explain(error));
    } finally {
      busy.current = false;
      setSending(false);
    }
  };
  return { sending, problem, send };
}

function Answer({
  conversation,
  question,
  roles,
  keys,
  onDone,
  name,
  place = '',
}: QuestionProps & { name: string }) {
  const [draft, change] = useDraft(name);
  const armed = useArmed(`${question.id} ${place}`);
  const { sending, problem, send } = useAnswer(conversation, question.id, (number) => {
    dropDraft(name);
    onDone(number);
  });
  const options = question.options ?? [];
  const answer = answerOf(draft, options);
  const ready = armed && !sending;
  const submit = () => answer && void send(answer, false);
  useEffect(() => {
    const picks = options.slice(0, 9).map((_, i) => [String(i + 1), () => change({ pick: i })]);
    keys.current = {
      ...Object.fromEntries(picks),
      ...(ready && answer ? { [SUBMIT]: submit } : {}),
    };
  });
  const group = useId();
  const asked = useId();
  return (
    <Card
      actions={
        <>
          <div className="flex flex-wrap items-center gap-2">
            <Decide
              look="primary"
              ready={ready && answer !== undefined}
              onClick={submit}
              className="max-sm:h-11"
            >
              {sending ? 'Sending…' : 'Answer'} <ActionKeys action="ask.submit" />
            </Decide>
            <Decide
              look="ghost"
              ready={ready}
              onClick={() => void send(LEFT, true)}
              className="max-sm:h-11"
            >
              Let the orchestrator decide
            </Decide>
          </div>
          {problem && <Problem {...problem} />}
        </>
      }
    >
      <Asker roles={roles} until={question.until} />
      <Asked id={asked} text={question.text ?? ''} />
      <div role="radiogroup" aria-labelledby={asked} className="space-y-1.5">
        {options.map((option, index) => (
          <Option
            // biome-ignore lint/suspicious/noArrayIndexKey: the options of a question never move
            key={index}
            group={group}
            number={index + 1}
            picked={draft.pick === index}
            onPick={() => change({ pick: index })}
            {...optionOf(option)}
          />
        ))}
        <Own draft={draft} change={change} alone={options.length === 0} />
      </div>
    </Card>
  );
}

function Own({
  draft,
  change,
  alone,
}: {
  draft: AnswerDraft;
  change: (fields: Partial<AnswerDraft>) => void;
  alone: boolean;
}) {
  const picked = draft.pick === 'other' && !alone;
  return (
    <label
      className={cx(
        'flex items-start gap-2.5 rounded-lg border px-3 py-2 focus-within:border-accent pointer-coarse:min-h-11',
        picked ? 'border-accent bg-accent-soft' : 'border-line-control bg-surface',
      )}
    >
      <Pencil className="mt-0.5 size-3.5 shrink-0 text-fg-3" aria-hidden="true" />
      <textarea
        rows={1}
        value={draft.text}
        aria-label="Your own answer"
        placeholder={alone ? 'Your answer…' : 'Something else…'}
        onFocus={() => draft.text.trim() && change({ pick: 'other' })}
        onChange={({ target }) =>
          change({ text: target.value, pick: target.value.trim() ? 'other' : undefined })
        }
        className="field-sizing-content max-h-32 w-full resize-none bg-transparent text-sm outline-none placeholder:text-fg-3"
      />
    </label>
  );
}
