import { FilePen, Globe, type LucideIcon, Plug, Search, Terminal } from 'lucide-react';
import type { ReactNode } from 'react';
import { DiffView } from '../../ui/diff';
import { DiffCounts } from '../../ui/diffcounts';
import { counts, diffLines } from '../../ui/difflines';
import { Exact } from '../../ui/exact';
import { plural } from '../../ui/format';
import { JsonView } from '../../ui/jsonview';
import { PatchView } from './patch';
import {
  type Effect,
  effectOf,
  effectWords,
  type Replacement,
  SHOWN,
  type Subject,
} from './subject';

const icons: Record<Effect, LucideIcon> = {
  program: Terminal,
  write: FilePen,
  network: Globe,
  read: Search,
  unknown: Plug,
};

/** What is to be decided about, whole. `cut` says that only the beginning of what is long is shown. */
export function SubjectView({
  conversation,
  subject,
  tool,
  cut,
}: {
  conversation: string;
  subject: Subject;
  tool: string;
  cut: boolean;
}) {
  const short = (text: string) => (cut ? text.slice(0, SHOWN) : text);
  const effect = effectOf(tool);
  switch (subject.kind) {
    case 'command':
      return (
        <Box effect={effect} foot={<In cwd={subject.cwd} />} rest={subject.rest}>
          <Text label="Command to run" sign="$ ">
            {short(subject.command)}
          </Text>
        </Box>
      );
    case 'change':
      return <Change change={subject.change} short={short} effect={effect} rest={subject.rest} />;
    case 'patch':
      return (
        <Box effect={effect} foot={plural(subject.files.length, 'file')} rest={subject.rest}>
          <PatchView conversation={conversation} task={subject.task} files={subject.files} />
        </Box>
      );
    case 'network':
      return (
        <Box effect={effect} foot={<>to {subject.host}</>} rest={subject.rest}>
          <p className="px-3 pt-2 font-medium text-sm">
            {subject.method} <Exact text={subject.host} />
          </p>
          <Text label="Address">{subject.address}</Text>
        </Box>
      );
    case 'arguments':
      return (
        <Box effect={effect} foot={<Exact text={tool} />} rest={{}}>
          <div className="px-3 py-2 text-xs">
            {cut ? (
              <Exact text={short(JSON.stringify(subject.rest, null, 2))} />
            ) : (
              <JsonView value={subject.rest} />
            )}
          </div>
        </Box>
      );
    case 'text':
      return (
        <Box effect={effect} foot={<Exact text={tool} />} rest={{}}>
          <Text label="Arguments">{short(subject.text)}</Text>
        </Box>
      );
    case 'unknown':
      return null;
  }
}

function Box({
  effect,
  foot,
  rest,
  head,
  children,
}: {
  effect: Effect;
  foot?: ReactNode;
  rest: Record<string, unknown>;
  head?: ReactNode;
  children: ReactNode;
}) {
  const Icon = icons[effect];
  return (
    <div className="overflow-hidden rounded-lg border bg-code">
      {head && <div className="flex items-center gap-2 border-b px-3 py-1.5 text-xs">{head}</div>}
      {children}
      {Object.keys(rest).length > 0 && (
        <div className="border-t px-3 py-1.5 text-xs">
          <JsonView value={rest} />
        </div>
      )}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-3 py-1.5 text-fg-3 text-xs">
        <span className="inline-flex items-center gap-1.5">
          <Icon className="size-3.5" aria-hidden="true" />
          {effectWords[effect]}
        </span>
        {foot && <span className="min-w-0 wrap-anywhere">{foot}</span>}
      </div>
    </div>
  );
}

const In = ({ cwd }: { cwd: string }) => (
  <>
    in{' '}
    <code className="font-mono text-2xs text-fg-2">
      <Exact text={cwd === '.' ? 'the workspace' : cwd} />
    </code>
  </>
);

/** A text that wraps: what runs off the screen is not seen. */
function Text({ label, sign, children }: { label: string; sign?: string; children: string }) {
  return (
    <pre className="wrap-anywhere whitespace-pre-wrap px-3 py-2 font-mono text-[12.5px] leading-5">
      <span className="sr-only">{label}: </span>
      {sign && <span className="select-none text-fg-3">{sign}</span>}
      <Exact text={children} />
    </pre>
  );
}

function headerOf({ whole, everywhere, before }: Replacement): string {
  if (whole) return '@@ Replaces the whole file @@';
  const lines = plural(before.split('\n').length - (before.endsWith('\n') ? 1 : 0), 'line');
  const where = everywhere ? 'everywhere in the file' : 'found once in the file';
  return `@@ ${lines}, ${where} @@`;
}

function Change({
  change,
  short,
  effect,
  rest,
}: {
  change: Replacement;
  short: (text: string) => string;
  effect: Effect;
  rest: Record<string, unknown>;
}) {
  const lines = diffLines(short(change.before), short(change.after));
  const head = { sign: '@' as const, number: undefined, text: headerOf(change) };
  return (
    <Box
      effect={effect}
      rest={rest}
      head={
        <>
          <FilePen className="size-3.5 shrink-0 text-fg-3" aria-hidden="true" />
          <code className="wrap-anywhere min-w-0 font-mono text-2xs">
            <Exact text={change.path} />
          </code>
          <DiffCounts {...counts(lines)} />
        </>
      }
    >
      <section aria-label={`Change of ${change.path}`}>
        <DiffView lines={[head, ...lines]} />
      </section>
    </Box>
  );
}
