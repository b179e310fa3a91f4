import { useState } from 'react';
import { useTexts } from '../../api/within';
import { CopyButton } from '../../markdown/code';
import { Button } from '../../ui/button';
import { DiffView } from '../../ui/diff';
import { DiffCounts } from '../../ui/diffcounts';
import { counts, type DiffLine } from '../../ui/difflines';
import { toastError } from '../../ui/toast';
import { Visible } from '../../ui/visible';

/** More than this is drawn only when somebody asks for it. */
const MOST = 20_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what terminals are told colours with
const colours = /\u001b\[[0-9;]*[A-Za-z]/g;

/** Text as a program or a tool wrote it, with nothing hidden in it. Of long ones the beginning is shown first. */
export function Output({
  text,
  label,
  whole,
  prompt,
}: {
  text: string;
  label: string;
  /** The hash of the whole output, if the text is cut. */
  whole?: string | undefined;
  prompt?: string;
}) {
  const texts = useTexts();
  const [all, setAll] = useState(false);
  const [fetched, setFetched] = useState<string>();
  const full = (fetched ?? text).replaceAll(colours, '');
  const shown = all ? full : full.slice(0, MOST);
  const left = full.length - shown.length;
  return (
    <figure className="overflow-hidden rounded-lg border bg-code">
      <figcaption className="flex h-8 items-center justify-between gap-2 border-b pr-1.5 pl-3 text-fg-3 text-xs">
        <span className="truncate">{label}</span>
        <CopyButton text={full} />
      </figcaption>
      <pre
        tabIndex={0}
        className="code max-h-80 overflow-auto whitespace-pre-wrap break-words px-3 py-2"
      >
        {prompt && <span className="select-none text-fg-3">{prompt} </span>}
        <Visible text={shown} />
        {shown === '' && <span className="text-fg-3">(nothing)</span>}
      </pre>
      {(left > 0 || (whole && fetched === undefined)) && (
        <div className="flex flex-wrap gap-2 border-t bg-sunken px-2 py-1.5">
          {left > 0 && (
            <Button size="small" look="ghost" onClick={() => setAll(true)}>
              Show {left.toLocaleString()} more characters
            </Button>
          )}
          {whole && fetched === undefined && (
            <Button
              size="small"
              look="ghost"
              onClick={() => void texts(whole).then(({ text: it }) => setFetched(it), toastError)}
            >
              Read the whole output
            </Button>
          )}
        </div>
      )}
    </figure>
  );
}

const LINES = 400;

/** Lines added and taken away. Of many the first are shown first. */
export function Diff({ lines, label }: { lines: readonly DiffLine[]; label: string }) {
  const [all, setAll] = useState(false);
  const shown = all ? lines : lines.slice(0, LINES);
  return (
    <figure className="overflow-hidden rounded-lg border bg-code">
      <figcaption className="flex h-8 items-center justify-between gap-2 border-b px-3 text-fg-3 text-xs">
        <span className="truncate font-mono">{label}</span>
        <DiffCounts {...counts(lines)} />
      </figcaption>
      <section tabIndex={0} aria-label={`Change of ${label}`} className="max-h-96 overflow-auto">
        <DiffView lines={shown} />
      </section>
      {shown.length < lines.length && (
        <div className="border-t bg-sunken px-2 py-1.5">
          <Button size="small" look="ghost" onClick={() => setAll(true)}>
            Show {lines.length - shown.length} more lines
          </Button>
        </div>
      )}
    </figure>
  );
}
