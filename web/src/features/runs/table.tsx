import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import type { Run } from '../../api/installation';
import { isOver } from '../../store/selectors';
import { Button } from '../../ui/button';
import { cx } from '../../ui/classes';
import { Duration, useNow } from '../../ui/clock';
import { ago, money } from '../../ui/format';
import { RoleTile, roleName } from '../../ui/role';
import { StatusBadge, shownOf } from '../../ui/status';
import type { StopState } from './bulkstop';
import { runKey } from './list';

const ROW = 44;
const NARROW = 76;

// One grid for the head and all rows. On a phone the second line holds what has no room in the first.
const columns =
  'grid grid-cols-[32px_minmax(0,1fr)_auto] items-center gap-x-3 md:grid-cols-[32px_150px_minmax(0,2fr)_minmax(0,1fr)_90px_80px_80px_48px]';

interface Props {
  rows: readonly Run[];
  chosen: ReadonlySet<string>;
  onChoose: (chosen: ReadonlySet<string>) => void;
  stops: ReadonlyMap<string, StopState>;
  onRetry: (run: Run) => void;
  onEnd: () => void;
}

/** The runs as a table of which only what is seen is in the page. */
export function RunsTable({ rows, chosen, onChoose, stops, onRetry, onEnd }: Props) {
  const box = useRef<HTMLElement>(null);
  const narrow = matchMedia('(max-width: 47.99rem)').matches;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => (narrow ? NARROW : ROW),
    overscan: 8,
    getItemKey: (index) => runKey(rows[index] as Run),
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    if (last >= rows.length - 20) end.current();
  }, [last, rows.length]);
  const stoppable = rows.filter((run) => !isOver(run)).map(runKey);
  const all = stoppable.length > 0 && stoppable.every((key) => chosen.has(key));
  const toggle = (key: string) => {
    const next = new Set(chosen);
    if (!next.delete(key)) next.add(key);
    onChoose(next);
  };
  return (
    <section
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
      tabIndex={0}
      aria-label="Runs"
      className="mb-4 min-h-40 flex-1 overflow-y-auto rounded-lg border bg-surface"
    >
      <table aria-rowcount={rows.length + 1} className="block w-full text-sm">
        <thead className="sticky top-0 z-10 block border-b bg-sunken text-fg-3 text-xs">
          <tr className={cx(columns, 'h-9 px-3')}>
            <th scope="col" className="text-left">
              <input
                type="checkbox"
                aria-label="Select all that can be stopped"
                checked={all}
                disabled={stoppable.length === 0}
                onChange={() => onChoose(new Set(all ? [] : stoppable))}
                className="size-4 align-middle accent-(--accent)"
              />
            </th>
            <Head className="max-md:hidden">Status</Head>
            <Head>Task</Head>
            <Head className="max-md:hidden">Conversation</Head>
            <Head className="max-md:hidden">Owner</Head>
            <Head className="text-right max-md:hidden">Time</Head>
            <Head className="text-right">Cost</Head>
            <Head className="text-right max-md:hidden">Began</Head>
          </tr>
        </thead>
        <tbody className="relative block" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start, key }) => {
            const run = rows[index] as Run;
            return (
              <tr
                key={key}
                data-index={index}
                ref={virtual.measureElement}
                aria-rowindex={index + 2}
                aria-selected={chosen.has(runKey(run))}
                style={{ transform: `translateY(${start}px)` }}
                className={cx(
                  columns,
                  'absolute inset-x-0 top-0 min-h-11 border-b px-3 py-1.5 hover:bg-hover',
                  chosen.has(runKey(run)) && 'bg-active',
                )}
              >
                <Cells
                  run={run}
                  chosen={chosen.has(runKey(run))}
                  onToggle={() => toggle(runKey(run))}
                  stop={stops.get(runKey(run))}
                  onRetry={() => onRetry(run)}
                />
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function Head({ children, className }: { children: string; className?: string }) {
  return (
    <th scope="col" className={cx('font-medium text-left', className)}>
      {children}
    </th>
  );
}

interface CellProps {
  run: Run;
  chosen: boolean;
  onToggle: () => void;
  stop: StopState | undefined;
  onRetry: () => void;
}

function Cells({ run, chosen, onToggle, stop, onRetry }: CellProps) {
  const over = isOver(run);
  const name = `${roleName(run.role)}: ${run.title || run.id}`;
  const stopping = !over && (stop?.state === 'sending' || stop?.state === 'accepted');
  const status = <StatusBadge shown={shownOf(run, { stopping })} />;
  return (
    <>
      <td>
        <input
          type="checkbox"
          aria-label={`Select ${name}`}
          checked={chosen}
          disabled={over || stopping}
          onChange={onToggle}
          className="size-4 align-middle accent-(--accent) disabled:opacity-40"
        />
      </td>
      <td className="max-md:hidden">{status}</td>
      <td className="min-w-0">
        <Link
          to="/c/$id"
          params={{ id: run.conversation }}
          search={run.parent ? { agent: run.agent } : {}}
          className="flex min-w-0 items-center gap-2 hover:underline"
        >
          <RoleTile roleId={run.parent ? run.role : 'main'} size="small" />
          <span className="min-w-0 truncate">
            <span className="font-medium">{roleName(run.role)}</span>{' '}
            <span className="text-fg-2">{run.title || run.conversation_title}</span>
          </span>
        </Link>
        <span className="mt-1 flex items-center gap-2 text-fg-3 text-xs md:hidden">
          {status}
          <span className="min-w-0 truncate">{run.conversation_title || 'Untitled'}</span>
        </span>
        {run.message && !stop && <p className="truncate text-fg-3 text-xs">{run.message}</p>}
        {stop?.state === 'refused' && (
          <p className="flex items-center gap-2 text-xs">
            <span data-s="failed" className="st st-fg min-w-0 truncate">
              Not stopped: {stop.why}
            </span>
            <Button size="small" onClick={onRetry}>
              Try again
            </Button>
          </p>
        )}
        {stop?.state === 'accepted' && over && <p className="text-fg-3 text-xs">Stopped</p>}
      </td>
      <td className="min-w-0 truncate text-fg-2 max-md:hidden">
        {run.conversation_title || 'Untitled'}
      </td>
      <td className="min-w-0 truncate text-fg-2 max-md:hidden">{run.by}</td>
      <td className="text-right text-fg-2 max-md:hidden">
        {run.started_at && (!over || run.finished_at) && (
          <Duration from={run.started_at} to={run.finished_at} />
        )}
      </td>
      <td className="tnum text-right">{money(run.cost_micro_usd)}</td>
      <td className="tnum text-right text-fg-3 text-xs max-md:hidden">
        <Began at={run.assigned_at} />
      </td>
    </>
  );
}

function Began({ at }: { at: string }) {
  return <time dateTime={at}>{ago(at, useNow())}</time>;
}
