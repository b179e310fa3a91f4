import { Check, Circle, CircleDot } from 'lucide-react';
import { type ComponentType, useMemo } from 'react';
import { listAgentMessages } from '../../../api/reads';
import type { Schemas } from '../../../api/types';
import { useRead } from '../../../api/useread';
import { Code } from '../../../markdown/code';
import { Markdown } from '../../../markdown/markdown';
import { cx } from '../../../ui/classes';
import { diffLines, patchIn } from '../../../ui/difflines';
import { bytes, duration } from '../../../ui/format';
import { Skeleton } from '../../../ui/small';
import { Json, MaybeJson } from '../json';
import { Diff, Output } from '../output';
import { Picture } from '../picture';
import { type Args, argsOf, kindOf, type ToolKind, textOf } from './kinds';

export interface BodyProps {
  conversation: string;
  /** The call as the server gives it, whole. */
  call: Schemas['ToolCallView'];
  args: Args;
}

const lineNumber = /^ *\d+\t/;
const ends: Record<string, string> = { mjs: 'js', cjs: 'js', htm: 'html', md: '', txt: '' };

function languageOf(path: string): string {
  const end = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return ends[end] ?? end;
}

function Result({ call, label }: { call: BodyProps['call']; label: string }) {
  if (call.status === undefined) return null;
  return <Output text={call.text ?? ''} label={label} whole={call.whole} />;
}

function ShellBody({ call, args }: BodyProps) {
  const cwd = textOf(args, 'cwd');
  const facts = (call.facts ?? {}) as { commands?: { exit?: number; signal?: string }[] };
  const command = facts.commands?.[0];
  const end = command?.signal ? `ended by ${command.signal}` : `exit code ${command?.exit}`;
  return (
    <>
      <Output text={textOf(args, 'command')} label={cwd ? `in ${cwd}` : 'Command'} prompt="$" />
      <Result call={call} label={command ? `Output · ${end}` : 'Output'} />
    </>
  );
}

function EditBody({ call, args }: BodyProps) {
  const done = useMemo(() => patchIn(call.text ?? ''), [call.text]);
  const asked = 'old' in args ? diffLines(textOf(args, 'old'), textOf(args, 'new')) : undefined;
  const lines = done ?? asked;
  const label = textOf(args, 'path') || call.tool;
  return (
    <>
      {lines ? <Diff lines={lines} label={label} /> : <Json value={args} label="Arguments" />}
      {!done && <Result call={call} label="Answer" />}
    </>
  );
}

function WriteBody({ call, args }: BodyProps) {
  const done = useMemo(() => patchIn(call.text ?? ''), [call.text]);
  const lines = done ?? diffLines('', textOf(args, 'content'));
  return (
    <>
      <Diff lines={lines} label={textOf(args, 'path')} />
      {call.status !== 'completed' && <Result call={call} label="Answer" />}
    </>
  );
}

function ReadBody({ conversation, call, args }: BodyProps) {
  const path = textOf(args, 'path');
  if (call.tool === 'read_image') {
    return <ImageBody conversation={conversation} call={call} label={path} />;
  }
  const text = call.text ?? '';
  const language = languageOf(path);
  const numbered = call.status === 'completed' && !call.whole && lineNumber.test(text);
  if (!numbered || !language || text.length > 20_000) return <Result call={call} label={path} />;
  const code = text
    .split('\n')
    .map((line) => line.replace(lineNumber, ''))
    .join('\n');
  return <Code code={code.trimEnd()} language={language} />;
}

/** The image is with the message that brought the result to the model. */
function ImageBody({
  conversation,
  call,
  label,
}: {
  conversation: string;
  call: BodyProps['call'];
  label: string;
}) {
  const { value, error } = useRead(`${call.agent} ${call.call}`, (signal) =>
    findImage(conversation, call, signal),
  );
  if (error || value === '') return <Result call={call} label={label} />;
  if (value === undefined) return <Skeleton className="h-32" />;
  return (
    <>
      <Picture hash={value} label={label} />
      <p className="text-fg-3 text-xs">{call.text}</p>
    </>
  );
}

const PAGES = 10;

async function findImage(conversation: string, call: BodyProps['call'], signal: AbortSignal) {
  let before: number | undefined;
  for (let page = 0; page < PAGES; page++) {
    const query = { limit: 100, ...(before === undefined ? {} : { before }) };
    const found = await listAgentMessages(conversation, call.agent, query, { signal });
    const parts = found.items.flatMap((message) => message.parts);
    const image = parts.find((part) => part.kind === 'image' && part.call === call.call);
    if (image?.image) return image.image;
    before = found.before;
    if (before === undefined) break;
  }
  return '';
}

function SearchBody({ call, args }: BodyProps) {
  const where = [textOf(args, 'path'), textOf(args, 'glob')].filter(Boolean).join(' · ');
  const found = (call.text ?? '').split('\n').filter((line) => line !== '').length;
  const count = call.status === 'completed' ? `${found} lines` : '';
  return <Result call={call} label={[where, count].filter(Boolean).join(' · ') || 'Found'} />;
}

function FetchBody({ call, args }: BodyProps) {
  const facts = (call.facts ?? {}) as { fetched?: { status?: number }[] };
  const status = facts.fetched?.[0]?.status;
  return (
    <>
      <Output text={textOf(args, 'url')} label="Address" prompt="GET" />
      <Result call={call} label={status ? `Page · status ${status}` : 'Page'} />
    </>
  );
}

const todoIcons = { completed: Check, in_progress: CircleDot, pending: Circle } as const;
const todoWords = { completed: 'Done', in_progress: 'Under way', pending: 'Open' } as const;

function TodoBody({ args }: BodyProps) {
  const todos = (Array.isArray(args.todos) ? args.todos : []) as {
    content?: string;
    status?: keyof typeof todoIcons;
  }[];
  return (
    <ul className="space-y-1 text-sm">
      {todos.map((todo) => {
        const Icon = todoIcons[todo.status ?? 'pending'] ?? Circle;
        return (
          <li key={todo.content} className="flex items-start gap-2">
            <Icon className="mt-1 size-3.5 shrink-0 text-fg-3" aria-hidden="true" />
            <span className="sr-only">{todoWords[todo.status ?? 'pending']}: </span>
            <span className={cx(todo.status === 'completed' && 'text-fg-3')}>{todo.content}</span>
          </li>
        );
      })}
    </ul>
  );
}

const ThoughtBody = ({ args }: BodyProps) => <Markdown text={textOf(args, 'thought')} />;

function GenericBody({ call, args }: BodyProps) {
  const given = Object.keys(args).length > 0 ? args : undefined;
  return (
    <>
      {given ? <Json value={given} /> : <Output text={call.args} label="Arguments" />}
      {call.status !== undefined && (
        <MaybeJson text={call.text ?? ''} label="Answer" whole={call.whole} />
      )}
    </>
  );
}

/** The hosts that a call reached, as the tool recorded them. */
export function Reached({ call }: { call: BodyProps['call'] }) {
  const facts = (call.facts ?? {}) as {
    reached?: { name: string; port: number; sent: number; received: number }[];
  };
  if (!facts.reached?.length) return null;
  return (
    <ul className="text-fg-3 text-xs" aria-label="Hosts reached">
      {facts.reached.map((host) => (
        <li key={`${host.name} ${host.port}`}>
          Reached <span className="font-mono">{`${host.name}:${host.port}`}</span>:{' '}
          {bytes(host.sent)} sent, {bytes(host.received)} received
        </li>
      ))}
    </ul>
  );
}

// How each sort of tool is shown when its row is open. A tool that is not known is shown as JSON.
const bodies: Record<ToolKind, ComponentType<BodyProps>> = {
  shell: ShellBody,
  edit: EditBody,
  write: WriteBody,
  read: ReadBody,
  search: SearchBody,
  fetch: FetchBody,
  todo: TodoBody,
  think: ThoughtBody,
  spawn: GenericBody,
  ask: GenericBody,
  submit: GenericBody,
  other: GenericBody,
};

/** What a call was given and what came of it. */
export function ToolBody({ conversation, call }: Omit<BodyProps, 'args'>) {
  const Body = bodies[kindOf(call.tool)];
  return (
    <div className="space-y-2">
      {call.reason && (
        <p className="text-fg-2 text-sm">
          {call.status === 'denied' ? 'Denied: ' : ''}
          {call.reason}
        </p>
      )}
      <Body conversation={conversation} call={call} args={argsOf(call.args)} />
      <Reached call={call} />
      {call.duration_ms !== undefined && call.duration_ms > 0 && (
        <p className="sr-only">Took {duration(call.duration_ms)}</p>
      )}
    </div>
  );
}
