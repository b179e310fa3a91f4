import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useRef } from 'react';
import type { TimelineSearch } from '../../shell/search';
import { useConversationId } from '../../shell/selection';
import { EmptyState } from '../../ui/small';
import { Grid } from './grid';
import type { Interval } from './interval';
import { type Timeline, useTimeline } from './overall';
import { idleShare, MUCH_IDLE } from './scale';
import { Toolbar } from './toolbar';
import { windowOf, zoomed, zoomOf } from './view';

/** When each agent did what. */
export function TimelinePage() {
  const conversation = useConversationId();
  const timeline = useTimeline(conversation);
  if (timeline.rows.length === 0) {
    return (
      <EmptyState title="Nothing has happened yet">Agents appear here as they begin.</EmptyState>
    );
  }
  return <Waterfall key={conversation} conversation={conversation} timeline={timeline} />;
}

function Waterfall({ conversation, timeline }: { conversation: string; timeline: Timeline }) {
  const search = useSearch({ strict: false }) as TimelineSearch;
  const { change, show } = useShow(timeline);
  const folded = useFolded(timeline, search.fold);
  const { from, to } = search;
  const window = useMemo(() => windowOf(timeline.whole, { from, to }), [timeline.whole, from, to]);
  return (
    <section aria-label="Timeline" className="flex min-h-0 flex-1 flex-col">
      <Toolbar
        folded={folded}
        zoomedIn={from !== undefined || to !== undefined}
        onFold={() => change({ fold: !folded })}
        onZoom={(factor) => show(zoomed(timeline.whole, window, factor))}
        onFit={() => change({ from: undefined, to: undefined })}
      />
      <Grid
        conversation={conversation}
        timeline={timeline}
        window={window}
        folded={folded}
        onShow={show}
      />
    </section>
  );
}

/** Changes what of the time is shown, which is in the address. */
function useShow(timeline: Timeline) {
  const navigate = useNavigate();
  const change = (
    fields: Partial<Record<'from' | 'to' | 'fold', number | boolean | undefined>>,
  ) => {
    const search = (before: TimelineSearch) => ({ ...before, ...fields });
    void navigate({ to: '.', search, replace: true } as never);
  };
  const show = (window: Interval) => {
    const { from, to } = zoomOf(timeline.whole, window);
    change({ from, to });
  };
  return { change, show };
}

/**
 * Whether idle time is folded: as the address says, or because there is much of it. A little less does not unfold it
 * again, so that it does not flicker while somebody watches.
 */
function useFolded(timeline: Timeline, asked: boolean | undefined): boolean {
  const last = useRef(false);
  const share = idleShare(timeline.busy, timeline.whole);
  last.current = share > (last.current ? MUCH_IDLE - 0.15 : MUCH_IDLE);
  return asked ?? last.current;
}
