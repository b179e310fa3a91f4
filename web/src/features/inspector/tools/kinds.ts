/** What sort of thing a tool does. Each has its look and its way of being shown. */
export type ToolKind =
  | 'shell'
  | 'edit'
  | 'write'
  | 'read'
  | 'search'
  | 'fetch'
  | 'spawn'
  | 'ask'
  | 'submit'
  | 'think'
  | 'todo'
  | 'other';

const kinds: Record<string, ToolKind> = {
  shell: 'shell',
  edit_file: 'edit',
  write_file: 'write',
  merge_patch: 'edit',
  read_file: 'read',
  read_image: 'read',
  list_dir: 'read',
  read_agent_transcript: 'read',
  grep: 'search',
  glob: 'search',
  web_search: 'search',
  web_fetch: 'fetch',
  spawn_agents: 'spawn',
  resume_agent: 'spawn',
  delegate_to_agent: 'spawn',
  task: 'spawn',
  Task: 'spawn',
  ask_user: 'ask',
  reply_to_agent: 'ask',
  submit_result: 'submit',
  submit_error: 'submit',
  think: 'think',
  todo: 'todo',
};

/** Tools of MCP servers, and whatever else is not known, are shown as they are. */
export const kindOf = (tool: string): ToolKind =>
  Object.hasOwn(kinds, tool) ? (kinds[tool] ?? 'other') : 'other';

export type Args = Record<string, unknown>;

/** The arguments of a call; none if the text is not an object yet. */
export function argsOf(text: string | undefined): Args {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Args)
      : {};
  } catch {
    return {};
  }
}

export const textOf = (args: Args, name: string): string => {
  const value = args[name];
  return typeof value === 'string' ? value : '';
};

const lines = (text: string): number =>
  text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);

const main: Record<ToolKind, (args: Args) => string> = {
  shell: (args) => textOf(args, 'command'),
  edit: (args) => textOf(args, 'path') || textOf(args, 'task'),
  write: (args) => textOf(args, 'path'),
  read: (args) => textOf(args, 'path') || textOf(args, 'agent') || '.',
  search: (args) => textOf(args, 'pattern') || textOf(args, 'query'),
  fetch: (args) => textOf(args, 'url'),
  spawn: (args) => textOf(args, 'task') || textOf(args, 'agent'),
  ask: (args) => textOf(args, 'question') || textOf(args, 'answer'),
  submit: (args) => textOf(args, 'summary') || textOf(args, 'result') || textOf(args, 'error'),
  think: (args) => textOf(args, 'thought'),
  todo: (args) => {
    const todos = Array.isArray(args.todos) ? (args.todos as { status?: unknown }[]) : [];
    return `${todos.filter((t) => t?.status === 'completed').length} of ${todos.length} done`;
  },
  other: (args) => {
    const [first] = Object.values(args).filter((value) => typeof value === 'string');
    return (first as string | undefined) ?? '';
  },
};

/** What a call is about, on one line. */
export const mainArgument = (tool: string, args: Args): string =>
  main[kindOf(tool)](args).replaceAll(/\s+/g, ' ').trim();

/** How many lines a call adds and takes away, as its arguments say. */
export function linesChanged(
  tool: string,
  args: Args,
): { added: number; removed: number } | undefined {
  if (tool === 'write_file') return { added: lines(textOf(args, 'content')), removed: 0 };
  if (tool !== 'edit_file') return undefined;
  const [before, after] = [textOf(args, 'old').split('\n'), textOf(args, 'new').split('\n')];
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end++;
  return { added: after.length - start - end, removed: before.length - start - end };
}

/** What a run of reads did, such as "Read 5 files, listed 1 folder". */
export function readsLine(tools: readonly string[]): string {
  const count = (tool: string) => tools.filter((each) => each === tool).length;
  const files = count('read_file');
  const images = count('read_image');
  const folders = count('list_dir');
  const transcripts = tools.length - files - images - folders;
  const some = (n: number, verb: string, one: string) =>
    n > 0 ? [`${verb} ${n} ${n === 1 ? one : `${one}s`}`] : [];
  const line = [
    ...some(files, 'read', 'file'),
    ...some(images, 'looked at', 'image'),
    ...some(folders, 'listed', 'folder'),
    ...some(transcripts, 'read', 'transcript'),
  ].join(', ');
  return line.charAt(0).toUpperCase() + line.slice(1);
}
