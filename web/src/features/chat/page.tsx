import { useConversationId } from '../../shell/selection';
import { AskDock } from '../asks/dock';
import { Find } from '../find/find';
import { useAnnouncements } from './announcements';
import { Composer } from './composer';
import { Queue } from './queue';
import { Transcript } from './transcript';

/** The chat: what was said, what waits for a person, and the place to write. */
export function ChatPage() {
  const id = useConversationId();
  useAnnouncements(id);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Find key={`find ${id}`} conversation={id} />
      <Transcript key={id} conversation={id} />
      <div className="relative mx-auto w-full max-w-[760px] px-3 pb-3 sm:px-6 sm:pb-4">
        <div
          className="fade-top pointer-events-none absolute inset-x-0 -top-8 h-8"
          aria-hidden="true"
        />
        <div className="space-y-2">
          <AskDock conversation={id} />
          <Queue conversation={id} />
          <Composer key={`write ${id}`} conversation={id} />
        </div>
      </div>
    </div>
  );
}
