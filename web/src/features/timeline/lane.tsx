import type { TaskRow } from '../../store/rows';
import { cx } from '../../ui/classes';
import { duration } from '../../ui/format';
import { roleHue } from '../../ui/role';
import type { Frame } from './layout';
import type { Scale } from './scale';
import { type Bar, barsOf, type Span } from './segments';

/** The bars of one agent, and a mark where a task of it failed or ran out of time. */
export function Lane({
  roleId,
  scale,
  frame,
  segments,
  tasks,
  note,
}: {
  roleId: string;
  scale: Scale;
  frame: Frame;
  segments: readonly Span[];
  tasks: readonly TaskRow[];
  note: { text: string; at: number } | undefined;
}) {
  return (
    <div
      aria-hidden="true"
      data-hue={roleHue(roleId)}
      className={cx('role relative', frame.stacked ? 'h-4' : 'h-full')}
      style={{ width: frame.lane, marginLeft: frame.stacked ? frame.left : 0 }}
    >
      {barsOf(segments, scale).map((bar) => (
        <LaneBar key={`${bar.span.doing}${bar.span.from}`} bar={bar} />
      ))}
      {tasks.map((task) => (
        <EndMark key={task.id} task={task} scale={scale} />
      ))}
      {note && (
        <span
          className="absolute top-1/2 -translate-y-1/2 whitespace-nowrap text-2xs text-fg-3"
          style={{ left: Math.max(0, Math.min(scale.x(note.at), scale.width - 150)) }}
        >
          {note.text}
        </span>
      )}
    </div>
  );
}

const looks = {
  model: 'role-solid h-3.5 rounded-[3px]',
  tool: 'role-edge h-3.5 rounded-[3px] border-[1.5px] bg-bg',
  you: 'st st-hatch h-2.5 rounded-[3px]',
  agents: 'wait-line h-px bg-fg-3/60',
} as const;

function LaneBar({ bar: { left, width, span } }: { bar: Bar }) {
  return (
    <span
      title={`${span.label} · ${duration(span.to - span.from)}${span.failed ? ' · failed' : ''}`}
      data-s={span.doing === 'you' ? 'you' : undefined}
      data-doing={span.doing}
      className={cx('absolute top-1/2 -translate-y-1/2 overflow-hidden', looks[span.doing])}
      style={{ left, width }}
    >
      {span.failed && (
        <span data-s="failed" className="st st-solid absolute inset-y-0 right-0 w-[3px]" />
      )}
    </span>
  );
}

function EndMark({ task, scale }: { task: TaskRow; scale: Scale }) {
  const bad = task.status === 'failed' || task.status === 'timed_out';
  const at = Date.parse(task.finished_at ?? '');
  if (!bad || !(at >= scale.window.from && at <= scale.window.to)) return null;
  return (
    <span
      data-s={task.status === 'failed' ? 'failed' : 'limit'}
      data-mark={task.status}
      title={task.status === 'failed' ? 'Failed' : 'Timed out'}
      className="st st-solid absolute top-1/2 h-5 w-[3px] -translate-y-1/2 rounded-full"
      style={{ left: Math.min(scale.x(at), scale.width - 3) }}
    />
  );
}
