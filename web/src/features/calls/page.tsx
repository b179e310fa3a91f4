import { useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import type { CallSearch } from '../../shell/search';
import { useConversationId } from '../../shell/selection';
import { EmptyState, Skeleton } from '../../ui/small';

const ModelCallPage = lazy(() => import('./model').then((m) => ({ default: m.ModelCallPage })));
const ToolCallPage = lazy(() => import('./tool').then((m) => ({ default: m.ToolCallPage })));

/** One call of a model or a tool, as it was sent and as it came back. */
export function CallPage() {
  const conversation = useConversationId();
  const call = useParams({ strict: false }).callId ?? '';
  const { of, kind, task } = useSearch({ strict: false }) as CallSearch;
  if (!of || !kind) {
    return (
      <EmptyState title="Whose call?">
        The address of a call names its agent too. Open it from the agent’s inspector.
      </EmptyState>
    );
  }
  const props = { conversation, agent: of, call };
  return (
    <section tabIndex={0} aria-label="One call" className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto w-full max-w-[860px] space-y-5 px-4 pt-5 pb-10 sm:px-6">
        <Suspense fallback={<Skeleton className="h-24" />}>
          {kind === 'model' ? (
            <ModelCallPage key={`${of} ${call}`} {...props} task={task} />
          ) : (
            <ToolCallPage key={`${of} ${call}`} {...props} />
          )}
        </Suspense>
      </div>
    </section>
  );
}
