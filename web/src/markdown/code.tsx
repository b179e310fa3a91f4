import { Check, Copy } from 'lucide-react';
import { Fragment, memo, type ReactNode, useEffect, useState } from 'react';
import { visible } from '../ui/visible';
import type { Piece } from './highlight';

const colours = () => import('./highlight');

function draw(piece: Piece, key: string): ReactNode {
  if (piece.text !== undefined) return <Fragment key={key}>{visible(piece.text)}</Fragment>;
  return (
    <span key={key} className={piece.className}>
      {piece.children?.map((child, index) => draw(child, `${key}.${index}`))}
    </span>
  );
}

/** A block of code. One whose fence is not closed yet has no colours. */
export const Code = memo(function Code({
  code,
  language = '',
  closed = true,
}: {
  code: string;
  language?: string;
  closed?: boolean;
}) {
  const [pieces, setPieces] = useState<Piece[] | undefined>();
  useEffect(() => {
    if (!closed || !language) return;
    let live = true;
    void colours()
      .then(({ highlight }) => highlight(language, code))
      .then((found) => live && setPieces(found));
    return () => {
      live = false;
    };
  }, [closed, code, language]);
  return (
    <figure className="overflow-hidden rounded-lg border bg-code">
      <figcaption className="flex h-8 items-center justify-between border-b pr-1.5 pl-3 text-fg-3 text-xs">
        <span>{visible(language || 'text')}</span>
        <CopyButton text={code} />
      </figcaption>
      <pre tabIndex={0} className="code overflow-x-auto px-3 py-2.5">
        <code>{closed && pieces ? pieces.map((p, i) => draw(p, String(i))) : visible(code)}</code>
      </pre>
    </figure>
  );
});

/** Copies a text and says so for a moment. */
export function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1200);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <button
      type="button"
      onClick={() => void navigator.clipboard?.writeText(text).then(() => setCopied(true))}
      className="inline-flex h-6 items-center gap-1 rounded-sm px-1.5 hover:bg-hover hover:text-fg"
    >
      {copied ? (
        <Check className="size-3.5" aria-hidden="true" />
      ) : (
        <Copy className="size-3.5" aria-hidden="true" />
      )}
      {copied ? 'Copied' : 'Copy'}
    </button>
  );
}
