// What an agent is doing, in a few words. It is made of its latest call; results are not needed for it.

import type { ConversationState } from '../../store/conversation';
import type { TaskRow, ToolCallRow } from '../../store/rows';
import { cached, isOver, orchestrator } from '../../store/selectors';
import { plural } from '../../ui/format';

const short = (text: string, most = 140): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

const verbs: Record<string, [doing: string, wants: string, argument: string]> = {
  read_file: ['Reading', 'Wants to read', 'path'],
  list_files: ['Looking through', 'Wants to look through', 'path'],
  list_dir: ['Looking through', 'Wants to look through', 'path'],
  glob: ['Looking for', 'Wants to look for', 'pattern'],
  grep: ['Searching for', 'Wants to search for', 'pattern'],
  search_files: ['Searching for', 'Wants to search for', 'pattern'],
  edit_file: ['Editing', 'Wants to change', 'path'],
  write_file: ['Writing', 'Wants to write', 'path'],
  shell: ['Running', 'Wants to run', 'command'],
  web_fetch: ['Reading', 'Wants to read', 'url'],
  web_search: ['Searching the web for', 'Wants to search the web for', 'query'],
  ask_user: ['Asks:', 'Asks:', 'question'],
};

const ends: Record<string, string> = {
  submit_result: 'Handing in its result',
  submit_error: 'Reporting what went wrong',
};

/** A call in words. */
export function callInWords(call: Pick<ToolCallRow, 'tool' | 'args' | 'status'>): string {
  const ending = ends[call.tool];
  if (ending) return ending;
  const args = argumentsOf(call.args);
  if (Array.isArray(args.tasks)) return `Waiting for ${plural(args.tasks.length, 'agent')}`;
  const known = verbs[call.tool];
  const wants = call.status === 'waiting_approval';
  if (!known) return `${wants ? 'Wants to use' : 'Using'} ${toolName(call.tool)}`;
  const [doing, wanting, name] = known;
  const what = typeof args[name] === 'string' ? short(args[name]) : '';
  return `${wants ? wanting : doing} ${what}`.trim();
}

/** Tools of MCP servers have their server's name in theirs. */
const toolName = (tool: string): string =>
  tool
    .replace(/^mcp__/, '')
    .replaceAll('__', ': ')
    .replaceAll('_', ' ');

function argumentsOf(args: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(args ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const lastCalls = (state: ConversationState): ReadonlyMap<string, ToolCallRow> =>
  cached(state, 'last calls', [state.toolCalls], () => {
    const found = new Map<string, ToolCallRow>();
    for (const call of state.toolCalls.all()) found.set(call.agent, call);
    return found;
  });

/** What a task that is under way is doing now. */
export function doing(state: ConversationState, task: TaskRow): string {
  if (isOver(task)) return '';
  if (task.status === 'queued' || task.status === 'pending') return 'Waits for a free place';
  const question = state.questions
    .all()
    .findLast((q) => q.agent === task.agent && q.status !== 'closed');
  if (question?.text) return `Asks: ${short(question.text)}`;
  const call = lastCalls(state).get(task.agent);
  if (call && !call.finished_at && call.seq > task.seq) return callInWords(call);
  // What it did last says what it thinks about, unless that belongs to an earlier turn or was done by others.
  const own = call && call.seq > task.seq && call.tool !== 'spawn_agents';
  return own && task.agent !== orchestrator ? `${callInWords(call)} · thinking` : 'Thinking';
}
