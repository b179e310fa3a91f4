import { Link } from '@tanstack/react-router';
import { explain } from '../api/problem';
import type { Trouble } from '../transport/watchconversation';
import { EmptyState } from '../ui/small';

const cuts = {
  deleted: 'This conversation was deleted',
  refused: 'You may no longer read this conversation',
} as const;

/** Why a conversation cannot be shown, and where to go instead. */
export function ConversationTrouble({ trouble }: { trouble: Trouble }) {
  const said = 'cut' in trouble ? { what: cuts[trouble.cut], next: '' } : explain(trouble.error);
  return (
    <EmptyState
      page
      title={said.what}
      action={
        <Link to="/new" className="text-accent text-sm underline">
          Start a conversation
        </Link>
      }
    >
      {said.next}
    </EmptyState>
  );
}
