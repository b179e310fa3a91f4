import type { DiffLine } from './difflines';
import { Exact } from './exact';

const words = { '+': 'added ', '-': 'removed ', ' ': '', '@': '' } as const;

/** All lines of a change. Long ones are wrapped: what is off the screen is not seen. */
export function DiffView({ lines }: { lines: readonly DiffLine[] }) {
  return (
    <div className="py-1 font-mono text-[12.5px] leading-5">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and never move
        <div key={index} data-sign={line.sign} className="diff-line flex pr-3">
          <span
            aria-hidden="true"
            className="tnum w-10 shrink-0 select-none pr-2 text-right text-fg-3"
          >
            {line.number ?? ''}
          </span>
          <span aria-hidden="true" className="w-4 shrink-0 select-none text-fg-3">
            {line.sign === '@' ? '' : line.sign}
          </span>
          <span
            className={
              line.sign === '@'
                ? 'wrap-anywhere whitespace-pre-wrap text-fg-3'
                : 'wrap-anywhere whitespace-pre-wrap'
            }
          >
            {words[line.sign] && <span className="sr-only">{words[line.sign]}</span>}
            <Exact text={line.text} />
          </span>
        </div>
      ))}
    </div>
  );
}
