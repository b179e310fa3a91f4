import { postMessage } from '../../api/commands';
import { ActionKeys } from '../../shell/keys/keycap';
import { StopAllButton } from '../../shell/stopall';
import { queued } from '../../store/chat';
import { useConversation } from '../../store/hooks';
import { loadMessage } from '../../store/load';
import { store } from '../../store/store';
import { Kbd } from '../../ui/small';
import { setDraft, useDraft } from './draft';
import { MessageForm } from './form';
import { correctionOf } from './queue';
import { useEscapeStop } from './stop';

export { MessageForm } from './form';

/** Where a person writes. It is never shut: what is posted while agents work is read at the next step. */
export function Composer({ conversation }: { conversation: string }) {
  const draft = useDraft(conversation);
  const workspace = useConversation(conversation, (state) => state.conversation?.workspace ?? '');
  const { busy, stopping, armed, stop } = useEscapeStop(conversation, draft === '');
  const last = useConversation(conversation, (state) => queued(state).at(-1));
  return (
    <MessageForm
      label="Message the orchestrator"
      placeholder={busy ? 'Add something, or steer the work…' : 'What’s next?'}
      draft={conversation}
      workspace={workspace}
      hint={<Hint armed={armed} busy={busy} stopping={stopping} />}
      actions={
        <>
          <span className="mr-2 hidden items-center gap-1 text-xs lg:flex">
            <ActionKeys action="palette.open" /> commands
          </span>
          {busy && (
            <StopAllButton
              label="Stop everything"
              hint={<Kbd>Esc Esc</Kbd>}
              outlined
              stop={stop}
              stopping={stopping}
              className="mr-1"
            />
          )}
        </>
      }
      onSend={async (text, key) => {
        const message = await postMessage(conversation, { text }, key);
        store.change((all) => loadMessage(all.conversation(conversation), message, message.seq));
      }}
      {...(last ? { onUp: () => setDraft(conversation, correctionOf(last)) } : {})}
    />
  );
}

function Hint({ armed, busy, stopping }: { armed: boolean; busy: boolean; stopping: boolean }) {
  if (stopping) return <span className="ml-1 text-xs">Stopping…</span>;
  if (armed)
    return <span className="ml-1 text-fg text-xs">Press Esc again to stop everything</span>;
  if (!busy) return null;
  return (
    <span className="ml-1 hidden text-xs sm:inline">
      Will be read before the orchestrator’s next step
    </span>
  );
}
