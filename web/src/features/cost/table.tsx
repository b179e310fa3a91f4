import { type ReactNode, useState } from 'react';
import type { Usage } from '../../api/types';
import { Button } from '../../ui/button';
import { cx } from '../../ui/classes';
import { tokens } from '../../ui/format';
import { roleHue } from '../../ui/role';
import { Money } from '../../ui/small';
import { cachedShare, type Line } from './lines';

/** A table of thousands of rows would be slow and is read by nobody; the rest comes when it is asked for. */
const AT_ONCE = 200;

const number = 'whitespace-nowrap px-3 text-right max-sm:px-2';
/** On a phone there is room for money only; the tokens of all are above the table. */
const roomy = 'max-sm:hidden';

/** Lines with their figures, and the sum of them. */
export function CostTable({
  heading,
  lines,
  total,
  calls,
  nameOf,
}: {
  heading: string;
  lines: readonly Line[];
  total: Usage;
  calls: number;
  nameOf: (line: Line) => ReactNode;
}) {
  const [shown, setShown] = useState(AT_ONCE);
  const tree = lines.some((line) => line.subtree !== undefined);
  const most = lines.reduce((max, line) => Math.max(max, costOf(line).cost_micro_usd), 1);
  return (
    <>
      <section
        tabIndex={0}
        aria-label={heading}
        className="overflow-x-auto rounded-lg border bg-surface"
      >
        <table className="w-full sm:min-w-[640px] text-sm">
          <thead className="border-b bg-sunken/60 text-left text-fg-3 text-xs">
            <tr>
              <Head className="w-full py-2">{heading}</Head>
              <Head className={cx('text-right', roomy)}>Calls</Head>
              <Head className={cx('text-right', roomy)}>In</Head>
              <Head className={cx('text-right', roomy)}>Cached</Head>
              <Head className={cx('text-right', roomy)}>Out</Head>
              {tree && <Head className="text-right">Own</Head>}
              <Head className="max-sm:text-right sm:min-w-44">
                {tree ? 'With children' : 'Cost'}
              </Head>
            </tr>
          </thead>
          <tbody className="tnum">
            {lines.slice(0, shown).map((line) => (
              <tr
                key={`${line.agent ?? ''}${line.name}`}
                className="border-t first:border-t-0 hover:bg-hover/50"
              >
                <th scope="row" className="max-w-0 py-1.5 pr-3 text-left font-normal">
                  {nameOf(line)}
                </th>
                <Figures line={line} tree={tree} />
                <td className="px-3">
                  <Share line={line} most={most} />
                </td>
              </tr>
            ))}
          </tbody>
          <tfoot className="tnum border-t bg-sunken/60 font-medium">
            <tr>
              <th scope="row" className="px-3 py-2 text-left font-medium">
                Total
              </th>
              <Figures line={{ name: '', calls, own: total, depth: 0 }} tree={tree} />
              <td className="px-3 text-right">{tree ? '' : <Price used={total} />}</td>
            </tr>
          </tfoot>
        </table>
      </section>
      {shown < lines.length && (
        <Button className="mt-3" size="small" onClick={() => setShown(shown + AT_ONCE)}>
          Show {Math.min(AT_ONCE, lines.length - shown)} more of {lines.length}
        </Button>
      )}
    </>
  );
}

const costOf = (line: Line): Usage => line.subtree ?? line.own;

function Head({ className, children }: { className?: string; children: ReactNode }) {
  return (
    <th scope="col" className={cx('px-3 font-medium max-sm:px-2', className)}>
      {children}
    </th>
  );
}

function Figures({ line, tree }: { line: Line; tree: boolean }) {
  const { own } = line;
  return (
    <>
      <td className={cx(number, roomy)}>{line.calls || '—'}</td>
      <td className={cx(number, roomy)}>{tokens(own.input)}</td>
      <td className={cx(number, roomy, 'text-fg-3')}>
        {tokens(own.cache_read)}
        {own.cache_read > 0 && (
          <span className="ml-1 text-2xs">{Math.round(cachedShare(own) * 100)}%</span>
        )}
      </td>
      <td className={cx(number, roomy)}>{tokens(own.output)}</td>
      {tree && (
        <td className={number}>
          <Price used={own} />
        </td>
      )}
    </>
  );
}

const Price = ({ used }: { used: Usage }) => (
  <Money micro={used.cost_micro_usd} unpriced={used.unpriced_calls} />
);

function Share({ line, most }: { line: Line; most: number }) {
  const used = costOf(line);
  return (
    <span className="flex items-center justify-end gap-2">
      <span
        aria-hidden="true"
        className="h-1.5 w-24 shrink-0 overflow-hidden rounded-full bg-active max-sm:hidden"
      >
        <span
          data-hue={roleHue(line.role ?? 'main')}
          className="role role-solid block h-full rounded-full"
          style={{ width: `${(used.cost_micro_usd / most) * 100}%` }}
        />
      </span>
      <span className="min-w-12 flex-1 text-right sm:whitespace-nowrap">
        <Price used={used} />
      </span>
    </span>
  );
}
