import { getQuotas, type Quotas } from '../../api/installation';
import { useRead } from '../../api/useread';
import { limitMoney, money } from '../../ui/format';
import { Section } from './parts';

/** What this month's budget is and how much of it is left, in a sentence. */
export function monthLine({
  budget_micro_usd: budget,
  spent_micro_usd: spent,
  ends,
}: Quotas['month']) {
  const day = new Date(ends).toLocaleDateString(undefined, {
    day: 'numeric',
    month: 'long',
    timeZone: 'UTC',
  });
  return `${money(spent)} of ${limitMoney(budget ?? 0)} spent on models. The next month begins on ${day}.`;
}

/** The budget of the month, where there is one. */
export function Month() {
  const { value } = useRead('quotas', (signal) => getQuotas({ signal }));
  const month = value?.month;
  if (!month?.budget_micro_usd) return null;
  const part = Math.min(1, month.spent_micro_usd / month.budget_micro_usd);
  return (
    <Section title="This month">
      <div
        role="progressbar"
        aria-label="Spent of this month’s budget"
        aria-valuenow={Math.round(part * 100)}
        aria-valuemin={0}
        aria-valuemax={100}
        className="h-2 max-w-md overflow-hidden rounded-full bg-active"
      >
        <div className="h-full bg-accent" style={{ width: `${part * 100}%` }} />
      </div>
      <p className="tnum mt-2 text-fg-2 text-sm">{monthLine(month)}</p>
    </Section>
  );
}
