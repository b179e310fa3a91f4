import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { type Activity, activityOf, agentTree, isLive, type TreeRow } from '../../store/activity';
import type { ConversationState } from '../../store/conversation';
import { same, useConversation } from '../../store/hooks';
import { isOver } from '../../store/selectors';
import { store } from '../../store/store';
import { useNow } from '../../ui/clock';
import { type Interval, union } from './interval';
import { CallPages, together } from './pages';
import { busyOf, spansOf } from './spans';

/** All agents together: from when to when, and when anybody worked. */
export interface Overall {
  whole: Interval;
  busy: readonly Interval[];
}

interface Share {
  activity: Activity;
  read: unknown;
  until: number;
  busy: readonly Interval[];
  from: number;
  to: number;
}

/** What each agent brings to the whole. Of a thousand agents few change at a time, and only those are gone through again. */
const shares = new WeakMap<CallPages, Map<string, Share>>();

function shareOf(state: ConversationState, pages: CallPages, agent: string, now: number): Share {
  const known = shares.get(pages) ?? new Map<string, Share>();
  shares.set(pages, known);
  const activity = activityOf(state, agent);
  const read = pages.of(agent);
  const until = activity.tasks.every(isOver) ? 0 : now;
  const before = known.get(agent);
  if (before?.until === until && before.read === read && same(before.activity, activity)) {
    return before;
  }
  const done = together(activity, read);
  const busy = busyOf(done, read !== undefined || done.modelCalls.length > 0, until);
  const to = spansOf(done, until).reduce((latest, span) => Math.max(latest, span.to), 0);
  const from = earliest(done.tasks.map((task) => Date.parse(task.assigned_at)));
  const share = { activity, read, until, busy, from, to };
  known.set(agent, share);
  return share;
}

export function overall(state: ConversationState, pages: CallPages, now: number): Overall {
  const all = agentTree(state).map(({ agent }) => shareOf(state, pages, agent.id, now));
  const head = state.conversation;
  const begun = earliest(all.map((share) => share.from));
  const from = Number.isFinite(begun) ? begun : Date.parse(head?.opened_at ?? '') || 0;
  const last = all.reduce((latest, share) => Math.max(latest, share.to), 0);
  const end = isLive(state) ? now : last || Date.parse(head?.updated_at ?? '') || 0;
  const busy = union(all.flatMap((share) => share.busy));
  return { whole: { from, to: Math.max(end, from + 1000) }, busy };
}

const earliest = (times: readonly number[]): number =>
  times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);

export interface Timeline extends Overall {
  rows: readonly TreeRow[];
  pages: CallPages;
  live: boolean;
  /** The time, while anything is at work. */
  now: number;
}

/** What the page draws. While agents work it is drawn anew once a second, however much happens. */
export function useTimeline(conversation: string): Timeline {
  const pages = useMemo(() => new CallPages(conversation), [conversation]);
  useEffect(() => () => pages.close(), [pages]);
  const read = useSyncExternalStore(pages.subscribe, () => pages.version);
  const rows = useConversation(conversation, agentTree);
  const live = useConversation(conversation, isLive);
  const updated = useConversation(conversation, (state) => state.conversation?.updated_at);
  const versions = useConversation(conversation, versionsOf);
  const tick = useNow();
  // The server's clock may be ahead: what it says has happened has happened.
  const now = live ? Math.max(tick, Date.parse(updated ?? '') || 0) : 0;
  const stamp = live ? now : versions;
  // biome-ignore lint/correctness/useExhaustiveDependencies: stamp says when the tables are worth reading again
  const all = useMemo(
    () => overall(store.conversation(conversation), pages, now),
    [conversation, pages, read, rows, stamp, now],
  );
  return { ...all, rows, pages, live, now };
}

const versionsOf = (state: ConversationState): string =>
  [state.tasks, state.modelCalls, state.toolCalls, state.approvals, state.questions, state.head]
    .map((table) => table.version)
    .join();

/** The width of an element, as it changes. */
export function useWidth(): [number, (element: HTMLElement | null) => void] {
  const [width, setWidth] = useState(0);
  const [element, setElement] = useState<HTMLElement | null>(null);
  useEffect(() => {
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, [element]);
  return [width, setElement];
}
