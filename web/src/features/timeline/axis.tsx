import { cx } from '../../ui/classes';
import type { Frame } from './layout';
import type { Scale } from './scale';
import type { Tick } from './ticks';

/** The times above the lanes. They stay while the rows scroll. */
export function Axis({ ticks, frame }: { ticks: readonly Tick[]; frame: Frame }) {
  return (
    <div
      aria-hidden="true"
      className="sticky top-0 z-10 flex h-7 border-b bg-bg text-2xs text-fg-3"
    >
      {!frame.stacked && (
        <div className="flex shrink-0 items-center px-4" style={{ width: frame.gutter }}>
          Agent
        </div>
      )}
      <div
        className="relative"
        style={{ width: frame.lane, marginLeft: frame.stacked ? frame.left : 0 }}
      >
        {ticks
          .filter((tick) => tick.label !== '')
          .map((tick) => (
            <span
              key={`${tick.x}${tick.label}`}
              data-tick={tick.gap ? 'gap' : tick.edge ? 'edge' : 'time'}
              className={cx(
                'tnum absolute top-1.5 whitespace-nowrap',
                tick.x > 0 && '-translate-x-1/2',
                tick.gap && 'text-fg-2 italic',
              )}
              style={{ left: tick.x }}
            >
              {tick.label}
            </span>
          ))}
      </div>
    </div>
  );
}

/** Behind the rows: a line per time, a band per folded stretch, and now. */
export function Backdrop({
  ticks,
  frame,
  scale,
  now,
}: {
  ticks: readonly Tick[];
  frame: Frame;
  scale: Scale;
  now: number;
}) {
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute inset-y-0"
      style={{ left: frame.left, width: frame.lane }}
    >
      {!frame.stacked &&
        ticks
          .filter((tick) => !tick.gap && !tick.edge)
          .map((tick) => (
            <span
              key={tick.x}
              className="absolute inset-y-0 w-px bg-line/70"
              style={{ left: tick.x }}
            />
          ))}
      {scale.gaps.map((gap) => (
        <span
          key={gap.from}
          className="absolute inset-y-0 border-line-strong border-x border-dashed bg-sunken"
          style={{ left: gap.x, width: gap.width }}
        />
      ))}
      {!frame.stacked && now > 0 && now <= scale.window.to && (
        <span
          data-s="running"
          data-mark="now"
          className="st st-solid absolute inset-y-0 w-px"
          style={{ left: scale.x(now) - 1 }}
        />
      )}
    </div>
  );
}
