import type { ModelCall, ToolCall } from '../../api/types';
import type { Activity } from '../../store/activity';
import type { ApprovalRow, QuestionRow, TaskRow } from '../../store/rows';
import { isOver } from '../../store/selectors';
import { type Interval, union, without } from './interval';
import type { Span } from './segments';

type Timed = Partial<Pick<ToolCall, 'started_at' | 'finished_at' | 'duration_ms'>>;
type ModelLike = Timed & Pick<ModelCall, 'task' | 'call' | 'status' | 'type' | 'model'>;
type ToolLike = Timed & Pick<ToolCall, 'task' | 'call' | 'status' | 'tool'>;

/** What an agent did, as far as it is known: from events, and from pages that were read. */
export interface Done extends Omit<Activity, 'modelCalls' | 'toolCalls'> {
  modelCalls: readonly ModelLike[];
  toolCalls: readonly ToolLike[];
}

const time = (at: string | undefined): number | undefined =>
  at === undefined ? undefined : Date.parse(at);

/** What took no time that can be measured is seen nevertheless. */
const span = (from: number, to: number): Interval => ({ from, to: Math.max(to, from + 1) });

/** Everything that an agent did, with overlaps. What is not over goes on until now. */
export function spansOf(done: Done, now: number): Span[] {
  const ends = new Map(done.tasks.map((task) => [task.id, endOf(task, now)]));
  const end = (task: string, from: number) => ends.get(task) ?? from;
  return [
    ...done.modelCalls.flatMap((call) => modelSpan(call, end)),
    ...done.toolCalls.flatMap((call) => toolSpan(call, end)),
    ...waits(done, end),
    ...done.given.filter((task) => !task.background).flatMap((task) => childSpan(task, now)),
  ];
}

/** When a task ended, or now. */
function endOf(task: TaskRow, now: number): number | undefined {
  return isOver(task) ? time(task.finished_at) : now;
}

type End = (task: string, from: number) => number;

function modelSpan(call: ModelLike, end: End): Span[] {
  const from = time(call.started_at);
  if (from === undefined) return [];
  const failed = call.status === 'failed' || call.status === 'timed_out';
  const label = call.model ?? 'Model call';
  return [
    {
      ...span(from, time(call.finished_at) ?? end(call.task, from)),
      doing: 'model',
      label,
      failed,
    },
  ];
}

function toolSpan(call: ToolLike, end: End): Span[] {
  const from = time(call.started_at);
  if (from === undefined || isDelegation(call)) return [];
  const failed = call.status === 'failed' || call.status === 'timed_out';
  const to = time(call.finished_at) ?? end(call.task, from);
  return [{ ...span(from, to), doing: 'tool', label: call.tool, failed }];
}

/** Calls that only wait for somebody are shown as the wait that they are. */
const isDelegation = (call: ToolLike): boolean =>
  ['spawn_agents', 'delegate_to_agent', 'task', 'resume_agent', 'ask_user'].includes(call.tool);

/** The stretches in which an agent waited for a person. */
export function waits(done: Done, end: End): Span[] {
  const calls = new Map(done.toolCalls.map((call) => [call.call, call]));
  const approvals = done.approvals.flatMap((ask): Span[] => {
    const from = Date.parse(ask.at);
    const call = calls.get(ask.call);
    const decided =
      ask.status === 'open' ? undefined : (time(call?.started_at) ?? time(call?.finished_at));
    const to = decided ?? (ask.status === 'open' ? end(ask.task, from) : from);
    return [{ ...span(from, to), doing: 'you', label: `Approval of ${ask.tool}` }];
  });
  const questions = done.questions.filter(wentToPerson).flatMap((ask): Span[] => {
    const from = Date.parse(ask.at);
    const call = calls.get(ask.id.slice(ask.id.lastIndexOf('#') + 1));
    const to = ask.status === 'closed' ? (time(call?.finished_at) ?? from) : end(ask.task, from);
    return [{ ...span(from, to), doing: 'you', label: 'Question' }];
  });
  return [...approvals, ...questions];
}

/** Many questions are answered by the orchestrator: nobody waited for a person then. */
const wentToPerson = (ask: QuestionRow | (ApprovalRow & { status: never })): boolean =>
  ask.status === 'relayed' || (ask.status === 'closed' && ask.by === 'user');

function childSpan(task: TaskRow, now: number): Span[] {
  const from = Date.parse(task.assigned_at);
  const to = endOf(task, now);
  return to === undefined ? [] : [{ ...span(from, to), doing: 'agents', label: 'Sub-agents' }];
}

/** From an agent's beginning to its end, or now. One that did something has begun, whether or not a start is known. */
export function lifeOf(done: Done, spans: readonly Span[], now: number): Interval | undefined {
  const started = done.tasks.flatMap((t) => time(t.started_at) ?? []);
  const from = spans.reduce((first, s) => Math.min(first, s.from), Math.min(...started));
  if (!Number.isFinite(from)) return undefined;
  if (done.tasks.some((t) => !isOver(t))) return { from, to: now };
  const ends = done.tasks.flatMap((t) => time(t.finished_at) ?? []);
  const to = spans.reduce((latest, s) => Math.max(latest, s.to), Math.max(0, ...ends));
  return { from, to: Math.max(to, from, ...started) };
}

/** When an agent worked: called models or used tools. Where its calls are not known, whenever it did not wait. */
export function busyOf(done: Done, known: boolean, now: number): Interval[] {
  const spans = spansOf(done, now);
  if (known) return union(spans.filter((s) => s.doing === 'model' || s.doing === 'tool'));
  const idle = union(spans.filter((s) => s.doing === 'you' || s.doing === 'agents'));
  return done.tasks.flatMap((task) => {
    const from = time(task.started_at);
    const to = endOf(task, now);
    return from === undefined || to === undefined ? [] : without({ from, to }, idle);
  });
}
