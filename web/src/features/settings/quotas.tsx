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

const megabytes = (bytes: number) =>
  (bytes / 1e6).toLocaleString(undefined, { maximumFractionDigits: bytes < 1e7 ? 1 : 0 });

/** How much of the storage is used, in a sentence. */
export function storageLine({ used_bytes: used, most_bytes: most = 0 }: Quotas['storage']) {
  const line = `${megabytes(used)} of ${megabytes(most)} MB used by conversations.`;
  return used < most ? line : `${line} Delete some before you begin new ones.`;
}

/** The budget of the month and the storage, where they have a bound. */
export function QuotaBars() {
  const { value } = useRead('quotas', (signal) => getQuotas({ signal }));
  if (!value) return null;
  const { month, storage } = value;
  return (
    <>
      {month.budget_micro_usd && (
        <Section title="This month">
          <Bar
            name="Spent of this month’s budget"
            part={month.spent_micro_usd / month.budget_micro_usd}
            line={monthLine(month)}
          />
        </Section>
      )}
      {storage.most_bytes && (
        <Section title="Storage">
          <Bar
            name="Used of the storage"
            part={storage.used_bytes / storage.most_bytes}
            line={storageLine(storage)}
          />
        </Section>
      )}
    </>
  );
}

function Bar({ name, part, line }: { name: string; part: number; line: string }) {
  const filled = Math.min(1, part) * 100;
  return (
    <>
      <div
        role="progressbar"
        aria-label={name}
        aria-valuenow={Math.round(filled)}
        aria-valuemin={0}
        aria-valuemax={100}
        className="h-2 max-w-md overflow-hidden rounded-full bg-active"
      >
        <div className="h-full bg-accent" style={{ width: `${filled}%` }} />
      </div>
      <p className="tnum mt-2 text-fg-2 text-sm">{line}</p>
    </>
  );
}
