import type { Usage } from '../../api/types';
import { summaryOf } from '../../store/activity';
import { useConversation } from '../../store/hooks';
import { useNow } from '../../ui/clock';
import { limitMoney, money, plural } from '../../ui/format';
import { roleHue, roleName } from '../../ui/role';
import { Money } from '../../ui/small';
import { barPieces, type Line } from './lines';

/** What was spent, of how much, and by whom. */
export function Budget({
  total,
  roles,
  held,
  limit,
  conversation,
}: {
  total: Usage;
  roles: readonly Line[];
  held: number;
  limit: number | undefined;
  conversation: string;
}) {
  const bar = barPieces(roles, held, limit);
  const words = `${money(total.cost_micro_usd)}${limit ? ` of ${limitMoney(limit)}` : ''} spent`;
  return (
    <section aria-label="Budget">
      <div className="flex flex-wrap items-end justify-between gap-x-6 gap-y-2">
        <div>
          <h2 className="text-fg-3 text-xs">Spent in this conversation</h2>
          <p className="tnum font-semibold text-figure tracking-tight">
            {money(total.cost_micro_usd)}{' '}
            <span className="font-normal text-fg-3 text-md tracking-normal">
              {limit ? `of ${limitMoney(limit)} budget` : 'without a limit'}
              {total.unpriced_calls > 0 && ' · estimate'}
            </span>
          </p>
        </div>
        <p className="text-fg-2 text-sm">
          <Pace conversation={conversation} cost={total.cost_micro_usd} />
          {held > 0 && (
            <>
              {' '}
              <span className="tnum font-medium text-fg">{money(held)}</span> held for calls that
              have not ended
            </>
          )}
        </p>
      </div>
      <div
        role="img"
        aria-label={held > 0 ? `${words}, ${money(held)} held` : words}
        className="mt-3 flex h-3 gap-px overflow-hidden rounded-full bg-active"
      >
        {bar.pieces.map((piece) => (
          <span
            key={piece.name}
            data-hue={roleHue(piece.name)}
            className="role role-solid h-full"
            style={{ width: `${piece.percent}%` }}
          />
        ))}
        {held > 0 && (
          <span data-s="quiet" className="st st-hatch h-full" style={{ width: `${bar.held}%` }} />
        )}
      </div>
      <ul className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-fg-2 text-xs">
        {roles.map((line) => (
          <li key={line.name} className="flex items-center gap-1.5">
            <span data-hue={roleHue(line.name)} className="role role-solid size-2 rounded-[2px]" />
            {roleName(line.name)}{' '}
            <span className="text-fg-3">
              <Money micro={line.own.cost_micro_usd} unpriced={line.own.unpriced_calls} />
            </span>
          </li>
        ))}
      </ul>
      {total.unpriced_calls > 0 && (
        <p className="mt-3 text-fg-2 text-sm">
          {plural(total.unpriced_calls, 'call')} went to models whose price is not known. What they
          cost is not in these figures.
        </p>
      )}
    </section>
  );
}

/** How fast money goes while agents work. */
function Pace({ conversation, cost }: { conversation: string; cost: number }) {
  const { from, to } = useConversation(conversation, summaryOf);
  const minutes = (Math.floor(useNow() / 10_000) * 10_000 - Date.parse(from ?? '')) / 60_000;
  if (to !== undefined || !(minutes > 0.5) || cost === 0) return null;
  return (
    <>
      About <span className="tnum font-medium text-fg">{money(cost / minutes)}</span> a minute so
      far.
    </>
  );
}
