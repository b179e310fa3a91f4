import type { Approval } from '../../api/types';

// What an agent wants to do, taken apart for the card that shows it. Nothing of it is left out: what has no place of its
// own in a card is in `rest`, and the card prints that too.

type Json = Record<string, unknown>;

interface Common {
  /** The agent's own sentence about it, if the call has one. */
  why: string | undefined;
  /** The arguments that the card has no place for. */
  rest: Json;
}

/** A passage that is taken out of a file and what is put in its place. */
export interface Replacement {
  path: string;
  before: string;
  after: string;
  everywhere: boolean;
  /** Whether this is the whole file, of which the page does not know what was in it. */
  whole: boolean;
}

export type Subject =
  | (Common & { kind: 'command'; command: string; cwd: string })
  | (Common & { kind: 'change'; change: Replacement })
  | (Common & { kind: 'patch'; task: string; files: readonly string[] })
  | (Common & { kind: 'network'; method: string; host: string; address: string })
  | (Common & { kind: 'arguments' })
  | { kind: 'text'; text: string; why: undefined; rest: Json }
  | { kind: 'unknown'; why: undefined; rest: Json };

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The arguments that are decided about, if they are what arguments should be. */
export function argumentsOf(show: unknown): Json | undefined {
  if (isObject(show)) return show;
  if (typeof show !== 'string') return undefined;
  try {
    const read: unknown = JSON.parse(show);
    return isObject(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

/** What an approval is about. Arguments of another shape than the tool's own are shown as they are. */
export function subjectOf({ tool, show }: Pick<Approval, 'tool' | 'show'>): Subject {
  const args = argumentsOf(show);
  if (!args) {
    if (show === undefined || show === null) return { kind: 'unknown', why: undefined, rest: {} };
    const text = typeof show === 'string' ? show : JSON.stringify(show, null, 2);
    return { kind: 'text', text, why: undefined, rest: {} };
  }
  return shaped(tool, args) ?? { kind: 'arguments', why: undefined, rest: args };
}

function shaped(tool: string, args: Json): Subject | undefined {
  switch (tool) {
    case 'shell':
      return commandOf(args);
    case 'edit_file':
      return editOf(args);
    case 'write_file':
      return writeOf(args);
    case 'merge_patch':
      return mergeOf(args);
    case 'web_fetch':
      return fetchOf(args);
  }
  return undefined;
}

const text = (value: unknown): value is string => typeof value === 'string';

function commandOf({ command, cwd, description, ...rest }: Json): Subject | undefined {
  if (!text(command) || !(text(cwd) || cwd === undefined)) return undefined;
  if (!(text(description) || description === undefined)) return undefined;
  return { kind: 'command', command, cwd: cwd || '.', why: description || undefined, rest };
}

function editOf({ path, old, new: after, replace_all: all, ...rest }: Json): Subject | undefined {
  if (!text(path) || !text(old) || !text(after)) return undefined;
  if (!(typeof all === 'boolean' || all === undefined)) return undefined;
  const change = { path, before: old, after, everywhere: all === true, whole: false };
  return { kind: 'change', change, why: undefined, rest };
}

function writeOf({ path, content, ...rest }: Json): Subject | undefined {
  if (!text(path) || !text(content)) return undefined;
  const change = { path, before: '', after: content, everywhere: false, whole: true };
  return { kind: 'change', change, why: undefined, rest };
}

function mergeOf({ task_id: task, files, ...rest }: Json): Subject | undefined {
  if (!text(task) || !Array.isArray(files) || !files.every(text)) return undefined;
  return { kind: 'patch', task, files, why: undefined, rest };
}

function fetchOf({ url, ...rest }: Json): Subject | undefined {
  if (!text(url) || !URL.canParse(url)) return undefined;
  // What the browser takes for the host is it, whatever is written before an @.
  return {
    kind: 'network',
    method: 'GET',
    host: new URL(url).host,
    address: url,
    why: undefined,
    rest,
  };
}

export type Effect = 'program' | 'write' | 'network' | 'read' | 'unknown';

const effects: Record<string, Effect> = {
  shell: 'program',
  edit_file: 'write',
  write_file: 'write',
  merge_patch: 'write',
  web_fetch: 'network',
  web_search: 'network',
  read_file: 'read',
  read_image: 'read',
  list_dir: 'read',
  glob: 'read',
  grep: 'read',
};

export const effectOf = (tool: string): Effect => effects[tool] ?? 'unknown';

export const effectWords: Record<Effect, string> = {
  program: 'Runs a program',
  write: 'Writes files',
  network: 'Uses the network',
  read: 'Reads files',
  unknown: 'What it does is up to the tool',
};

const wishes: Record<string, string> = {
  shell: 'run a shell command',
  edit_file: 'edit a file',
  write_file: 'write a file',
  merge_patch: 'take over the changes of a sub-agent',
  web_fetch: 'read a web page',
  web_search: 'search the web',
  read_file: 'read a file',
  read_image: 'look at an image',
  list_dir: 'list a folder',
  glob: 'look for files',
  grep: 'search in files',
};

/** What the agent wants to do, as it follows on "Coder wants to". */
export function wishOf(tool: string): string {
  const known = wishes[tool];
  if (known) return known;
  const [prefix, server, ...name] = tool.split('__');
  if (prefix === 'mcp' && server && name.length > 0) return `use ${name.join('__')} of ${server}`;
  return `use ${tool}`;
}

/** One line that says what it is about, for lists. */
export function lineOf(approval: Pick<Approval, 'tool' | 'show'>): string {
  const subject = subjectOf(approval);
  switch (subject.kind) {
    case 'command':
      return subject.command;
    case 'change':
      return subject.change.path;
    case 'patch':
      return subject.files.join(', ') || subject.task;
    case 'network':
      return subject.address;
    case 'text':
      return subject.text;
    case 'arguments':
      return JSON.stringify(subject.rest);
    case 'unknown':
      return approval.tool;
  }
}

/** How much of one text the page shows before somebody asks for the rest. */
export const SHOWN = 40_000;

/** Whether a card shows less than everything until somebody asks for the rest. */
export function isLong(subject: Subject): boolean {
  const sizes = Object.values(subject.rest).map((value) => JSON.stringify(value)?.length ?? 0);
  if (subject.kind === 'command') sizes.push(subject.command.length);
  if (subject.kind === 'change')
    sizes.push(subject.change.before.length + subject.change.after.length);
  if (subject.kind === 'text') sizes.push(subject.text.length);
  return sizes.some((size) => size > SHOWN);
}

/** What "always" would cover, one line each: the commands, or the tool with its pattern. Nothing for what is not shown whole. */
export function coveredBy(
  { tool, pattern }: Pick<Approval, 'tool' | 'pattern'>,
  subject: Subject,
): readonly string[] {
  if (!pattern || subject.kind === 'patch' || subject.kind === 'unknown') return [];
  return pattern.split('\n').map((line) => (tool === 'shell' ? line : `${tool} ${line}`));
}
