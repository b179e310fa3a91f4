import { Link, useLocation } from '@tanstack/react-router';
import { Hand } from 'lucide-react';
import { ActionKeys } from '../../shell/keys/keycap';
import { useConversation } from '../../store/hooks';
import { openAsks } from '../../store/selectors';
import { plural } from '../../ui/format';

/** What the dock is on the pages beside the chat: a way to it. */
export function AskChip({ conversation }: { conversation: string }) {
  const asks = useConversation(conversation, openAsks);
  const { pathname } = useLocation();
  const first = asks[0];
  const chat = pathname.replace(/\/$/, '') === `/c/${conversation}`;
  if (chat || !first) return null;
  return (
    <div className="pointer-events-none absolute inset-x-0 bottom-4 z-20 flex justify-center">
      <Link
        to="/c/$id"
        params={{ id: conversation }}
        search={{ ask: first.id }}
        data-s="you"
        className="st st-bg st-line st-fg pointer-events-auto inline-flex h-9 items-center gap-2 rounded-full border px-3.5 font-medium text-sm shadow-pop pointer-coarse:h-11"
      >
        <Hand className="size-4" aria-hidden="true" />
        {plural(asks.length, 'thing needs you', 'things need you')}
        <ActionKeys action="ask.next" />
      </Link>
    </div>
  );
}
