import { ChevronRight, Copy, Link } from 'lucide-react';
import { useConversation } from '../../store/hooks';
import type { MessageRow } from '../../store/rows';
import { messageState, orchestrator } from '../../store/selectors';
import { store } from '../../store/store';
import { announce } from '../../ui/announcer';
import { IconButton } from '../../ui/button';
import { cx } from '../../ui/classes';
import { clockTime } from '../../ui/format';
import { RoleTile, roleName } from '../../ui/role';
import { toastError } from '../../ui/toast';
import { visible } from '../../ui/visible';
import { Disclosure } from './disclosure';
import { type Row, textsOf, turnKey } from './row';
import { rowsOf } from './rows';

/** What a person said. What they wrote is shown as it is, without Markdown. */
export function PostedRow({
  conversation,
  message,
}: {
  conversation: string;
  message: MessageRow;
}) {
  const how = useConversation(conversation, (state) => messageState(state, message));
  const asker = useConversation(conversation, (state) => {
    const question = message.in_reply_to && state.questions.get(message.in_reply_to);
    return question ? state.agents.get(question.agent)?.role : undefined;
  });
  const name = message.by && message.by !== 'you' ? message.by : 'You';
  return (
    <div id={`m-${message.seq}`} className="group/said flex flex-col items-end gap-1 pt-5 pb-3">
      <h2 tabIndex={-1} className="sr-only">
        {name} said, at {clockTime(message.at)}
      </h2>
      <div className="prose max-w-[86%] whitespace-pre-wrap rounded-xl rounded-br-sm bg-hover px-3.5 py-2.5 outline-2 outline-transparent outline-offset-2 group-has-[h2:focus-visible]/said:outline-(--ring)">
        {visible(textsOf(message).join('\n\n'))}
      </div>
      <p className="text-fg-3 text-xs empty:hidden">
        {asker && `Answer to ${roleName(asker)}`}
        {!asker && name !== 'You' && name}
        {!asker && how === 'received' && ' Sent'}
      </p>
    </div>
  );
}

type Heading = Extract<Row, { kind: 'heading' }>;

/** Who speaks and when; what is in the turn, if it is folded. */
export function TurnHeading({ conversation, row }: { conversation: string; row: Heading }) {
  const disclosure = Disclosure.of(conversation);
  const folded = row.folded !== '';
  return (
    <header className="group/turn flex h-[46px] items-center gap-2 pt-3 pb-1">
      <RoleTile roleId={orchestrator} />
      <h2
        tabIndex={-1}
        id={row.number === undefined ? undefined : `t-${row.number}`}
        className="shrink-0 font-medium text-sm"
      >
        {roleName(orchestrator)}
        <span className="sr-only">{row.at ? `, at ${clockTime(row.at)}` : ''}</span>
      </h2>
      {row.at && (
        <time className="shrink-0 text-fg-3 text-xs" dateTime={row.at}>
          {clockTime(row.at)}
        </time>
      )}
      {folded && <p className="min-w-0 truncate text-fg-3 text-sm">{row.folded}</p>}
      <span className="flex-1" />
      <span
        className={cx(
          'flex items-center transition-opacity duration-100 focus-within:opacity-100 group-hover/turn:opacity-100 pointer-coarse:opacity-100',
          !folded && 'opacity-0',
        )}
      >
        <TurnActions conversation={conversation} row={row} />
        <IconButton
          label={folded ? 'Unfold turn' : 'Fold turn'}
          aria-expanded={!folded}
          onClick={() => disclosure.set(turnKey(row.turn), folded)}
        >
          <ChevronRight
            className={cx('size-3.5 transition-transform duration-150', !folded && 'rotate-90')}
            aria-hidden="true"
          />
        </IconButton>
      </span>
    </header>
  );
}

function TurnActions({ conversation, row }: { conversation: string; row: Heading }) {
  const address = () => {
    const { origin, pathname } = location;
    return `${origin}${pathname}#t-${row.number}`;
  };
  return (
    <>
      <IconButton
        label="Copy turn"
        onClick={() => copy(turnText(conversation, row.turn), 'The turn was copied')}
      >
        <Copy className="size-3.5" aria-hidden="true" />
      </IconButton>
      {row.number !== undefined && (
        <IconButton label="Copy link" onClick={() => copy(address(), 'The link was copied')}>
          <Link className="size-3.5" aria-hidden="true" />
        </IconButton>
      )}
    </>
  );
}

function copy(text: string, said: string): void {
  void navigator.clipboard?.writeText(text).then(() => announce(said), toastError);
}

/** All that was written in a turn, as it was written, although most of it may not be drawn. */
function turnText(conversation: string, turn: string): string {
  const rows = rowsOf(store.conversation(conversation), Disclosure.of(conversation));
  return rows
    .filter((row) => row.turn === turn && row.kind === 'block')
    .map((row) => (row.kind === 'block' ? row.raw.trimEnd() : ''))
    .join('\n\n');
}
