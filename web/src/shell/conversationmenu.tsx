import { useNavigate } from '@tanstack/react-router';
import { Archive, Download, Ellipsis, Link2, Trash2, Users } from 'lucide-react';
import { useRef, useState } from 'react';
import { archiveConversation, deleteConversation, shareConversation } from '../api/commands';
import { newKey } from '../api/request';
import { exportConversation } from '../features/chat/export';
import { useConversation } from '../store/hooks';
import { announce } from '../ui/announcer';
import { Confirm } from '../ui/confirm';
import { MenuButton } from '../ui/menubutton';
import { toastError } from '../ui/toast';

/** What can be done with a whole conversation. */
export function ConversationMenu({ id }: { id: string }) {
  const title = useConversation(id, (state) => state.conversation?.title) || 'Untitled';
  const archived = useConversation(id, (state) => state.conversation?.archived ?? false);
  const isPrivate = useConversation(id, (state) => state.conversation?.visibility === 'private');
  const [deleting, setDeleting] = useState(false);
  const [sharing, setSharing] = useState(false);
  const navigate = useNavigate();
  // Made once, so that a second try is the same command.
  const keys = useRef({ archive: newKey(), delete: newKey(), share: newKey() });
  const icon = 'size-4 text-fg-3';
  return (
    <>
      <MenuButton
        button={
          <button
            type="button"
            aria-label="Conversation menu"
            title="Conversation menu"
            className="grid size-8 shrink-0 place-items-center rounded-md text-fg-2 hover:bg-hover hover:text-fg pointer-coarse:size-11"
          >
            <Ellipsis className="size-4" aria-hidden="true" />
          </button>
        }
        items={[
          {
            name: 'link',
            content: (
              <>
                <Link2 className={icon} aria-hidden="true" />
                Copy link
              </>
            ),
            onSelect: () =>
              void navigator.clipboard
                .writeText(new URL(`/c/${id}`, location.href).href)
                .then(() => announce('The link was copied.'), toastError),
          },
          {
            name: 'export',
            content: (
              <>
                <Download className={icon} aria-hidden="true" />
                Export
              </>
            ),
            onSelect: () => void exportConversation(id).catch(toastError),
          },
          ...(isPrivate
            ? [
                {
                  name: 'share',
                  content: (
                    <>
                      <Users className={icon} aria-hidden="true" />
                      Share with everybody…
                    </>
                  ),
                  onSelect: () => setSharing(true),
                },
              ]
            : []),
          {
            name: 'archive',
            disabled: archived,
            content: (
              <>
                <Archive className={icon} aria-hidden="true" />
                {archived ? 'Is archived' : 'Archive'}
              </>
            ),
            onSelect: () =>
              void archiveConversation(id, keys.current.archive).then(() => {
                announce('The conversation is archived.');
                void navigate({ to: '/new' });
              }, toastError),
          },
          {
            name: 'delete',
            danger: true,
            content: (
              <>
                <Trash2 className="size-4" aria-hidden="true" />
                Delete…
              </>
            ),
            onSelect: () => setDeleting(true),
          },
        ]}
      />
      {sharing && (
        <Confirm
          title={`Share “${title}”?`}
          act="Share"
          onClose={() => setSharing(false)}
          onAct={async () => {
            await shareConversation(id, keys.current.share);
            announce('Everybody in your team can see the conversation.');
          }}
        >
          Everybody in your team will see all of it, also what was said before, and can take part.
          It cannot be made private again.
        </Confirm>
      )}
      {deleting && (
        <Confirm
          title={`Delete “${title}”?`}
          act="Delete for good"
          onClose={() => setDeleting(false)}
          onAct={async () => {
            await deleteConversation(id, keys.current.delete);
            announce('The conversation is being deleted.');
            void navigate({ to: '/new' });
          }}
        >
          This cannot be undone. Its agents are stopped, and nobody can read it any more. Files that
          agents changed stay as they are. Export it first to keep a copy.
        </Confirm>
      )}
    </>
  );
}
