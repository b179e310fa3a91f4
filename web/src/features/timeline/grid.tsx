import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useSelectAgent, useSelectedAgent } from '../../shell/selection';
import { useConversation } from '../../store/hooks';
import { Axis, Backdrop } from './axis';
import { useDrag } from './drag';
import type { Interval } from './interval';
import { frameOf } from './layout';
import { type Timeline, useWidth } from './overall';
import { Row, rowId } from './row';
import { idle, scaleOf } from './scale';
import { ticksOf } from './ticks';
import { moved, moveFor, openRows, zoomed } from './view';

interface GridProps {
  conversation: string;
  timeline: Timeline;
  window: Interval;
  folded: boolean;
  onShow: (window: Interval) => void;
}

/** The agents as a tree with their bars. It has the focus as one; the keys move within it. */
export function Grid({ conversation, timeline, window, folded, onShow }: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, measure] = useWidth();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<string>();
  const selected = useSelectedAgent();
  const select = useSelectAgent();

  const frame = useMemo(() => frameOf(width), [width]);
  const gaps = useMemo(
    () => (folded ? idle(timeline.busy, timeline.whole) : []),
    [folded, timeline.busy, timeline.whole],
  );
  const scale = useMemo(
    () => scaleOf(window, frame.lane, gaps, timeline.whole.from),
    [window, frame.lane, gaps, timeline.whole.from],
  );
  const ticks = useMemo(() => ticksOf(scale), [scale]);
  const rows = useMemo(() => openRows(timeline.rows, closed), [timeline.rows, closed]);
  const cursor = Math.max(
    0,
    rows.findIndex((row) => row.agent.id === (at ?? selected)),
  );

  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => frame.row,
    getItemKey: (index) => rows[index]?.agent.id ?? index,
    scrollPaddingStart: 28,
    overscan: 8,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows are measured again when their height changes
  useEffect(() => virtual.measure(), [frame.row]);
  const items = virtual.getVirtualItems();
  useLoading(
    conversation,
    timeline,
    items.map((item) => rows[item.index]?.agent.id ?? ''),
  );

  const drag = useDrag({ left: frame.left, width: frame.lane }, ({ from, to }) =>
    onShow({ from: scale.at(from), to: scale.at(to) }),
  );
  const toggle = useCallback((agent: string) => setClosed((before) => toggled(before, agent)), []);
  const dragged = drag.wasDrag;
  const open = useCallback(
    (agent: string) => {
      if (dragged()) return;
      setAt(agent);
      select(agent);
    },
    [select, dragged],
  );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keyOf(event, { rows, cursor, closed, window, whole: timeline.whole });
    if (!act) return;
    event.preventDefault();
    if ('window' in act) return onShow(act.window);
    if ('inspect' in act) return select(act.inspect);
    if ('toggle' in act) return toggle(act.toggle);
    setAt(rows[act.to]?.agent.id);
    virtual.scrollToIndex(act.to);
  };
  const shown = rows[cursor]?.agent.id;
  const visible = items.some((item) => item.index === cursor);
  return (
    <div
      ref={(element) => {
        box.current = element;
        measure(element);
      }}
      role="treegrid"
      aria-label="Agents over time"
      aria-rowcount={rows.length}
      aria-activedescendant={visible && shown !== undefined ? rowId(shown) : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      {...drag.handlers}
      className="min-h-0 flex-1 select-none overflow-y-auto overflow-x-hidden outline-offset-[-2px]"
    >
      <Axis ticks={ticks} frame={frame} />
      <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        <Backdrop ticks={ticks} frame={frame} scale={scale} now={timeline.now} />
        {width > 0 &&
          items.map((item) => {
            const row = rows[item.index];
            return (
              row && (
                <Row
                  key={row.agent.id}
                  conversation={conversation}
                  row={row}
                  index={item.index}
                  top={item.start}
                  pages={timeline.pages}
                  read={timeline.pages.version}
                  scale={scale}
                  frame={frame}
                  now={timeline.now}
                  current={item.index === cursor}
                  selected={selected === row.agent.id}
                  closed={closed.has(row.agent.id)}
                  onOpen={open}
                  onToggle={toggle}
                />
              )
            );
          })}
        {drag.dragging && (
          <span
            aria-hidden="true"
            className="pointer-events-none absolute inset-y-0 border-accent border-x bg-accent/15"
            style={{
              left: frame.left + drag.dragging.from,
              width: drag.dragging.to - drag.dragging.from,
            }}
          />
        )}
      </div>
    </div>
  );
}

function toggled(before: ReadonlySet<string>, agent: string): ReadonlySet<string> {
  const after = new Set(before);
  if (!after.delete(agent)) after.add(agent);
  return after;
}

/** Has the calls read of the agents that are looked at. */
function useLoading(conversation: string, timeline: Timeline, agents: string[]): void {
  const asOf = useConversation(conversation, (state) => state.spent?.seq ?? 0);
  const names = agents.join(' ');
  const { pages } = timeline;
  useEffect(() => {
    if (asOf > 0) pages.want(names.split(' ').filter(Boolean), asOf);
  }, [pages, names, asOf]);
}

interface Looking {
  rows: Parameters<typeof moveFor>[1];
  cursor: number;
  closed: ReadonlySet<string>;
  window: Interval;
  whole: Interval;
}

type Act = { window: Interval } | { inspect: string } | { toggle: string } | { to: number };

const PAGE = 10;

/** What a key does: moves through the tree, opens an agent, or changes what of the time is shown. */
function keyOf(event: KeyboardEvent, on: Looking): Act | undefined {
  const { key, shiftKey } = event;
  const row = on.rows[on.cursor];
  const length = on.window.to - on.window.from;
  if (key === '+' || key === '=') return { window: zoomed(on.whole, on.window, 0.5) };
  if (key === '-' || key === '_') return { window: zoomed(on.whole, on.window, 2) };
  if (key === '0') return { window: on.whole };
  if (shiftKey && key === 'ArrowRight') return { window: moved(on.whole, on.window, length / 4) };
  if (shiftKey && key === 'ArrowLeft') return { window: moved(on.whole, on.window, -length / 4) };
  if (key === 'Enter' && row) return { inspect: row.agent.id };
  const move = moveFor(key, on.rows, on.cursor, on.closed, PAGE);
  if (!move) return undefined;
  if ('to' in move) return move;
  return { toggle: 'open' in move ? move.open : move.close };
}
