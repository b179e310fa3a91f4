import type { InboxRow } from '../../store/list';
import { plural } from '../../ui/format';
import { roleName } from '../../ui/role';
import { lineOf, wishOf } from './subject';

/** An ask is about to expire when there is less than this left. */
export const SOON = 60_000;

/** What is said of asks that have just come, to those who do not look at the screen. */
export function arrivalLine(rows: readonly InboxRow[]): string {
  const [row] = rows;
  const what =
    rows.length > 1 || !row
      ? `${plural(rows.length, 'thing needs', 'things need')} you`
      : `${roleName(row.role)} ${row.approval ? 'needs approval' : 'has a question'}`;
  return `${what}. Control period to go there.`;
}

/** The words of a notification. */
export function noteOf(row: InboxRow): { title: string; body: string } {
  if (row.approval) {
    const title = `${roleName(row.role)} wants to ${wishOf(row.approval.tool)}`;
    return { title, body: lineOf(row.approval).slice(0, 200) };
  }
  const title = `${roleName(row.role)} has a question`;
  return { title, body: (row.question?.text ?? '').slice(0, 200) };
}

export const untilOf = (row: InboxRow): string | undefined =>
  row.approval?.until ?? row.question?.until;

/** What is new since the last look. At the first look nothing is. */
export class Arrivals {
  private known: Set<string> | undefined;
  private readonly warned = new Set<string>();

  arrived(rows: readonly InboxRow[]): InboxRow[] {
    const { known } = this;
    this.known = new Set(rows.map((row) => row.id));
    return known ? rows.filter((row) => !known.has(row.id)) : [];
  }

  /** What expires soon and was not spoken of, and when to look again. */
  expiring(rows: readonly InboxRow[], now: number): { soon: InboxRow[]; next: number | undefined } {
    const left = rows
      .filter((row) => !this.warned.has(row.id) && untilOf(row) !== undefined)
      .map((row) => ({ row, at: Date.parse(untilOf(row) ?? '') - SOON }));
    const soon = left.filter(({ at }) => at <= now).map(({ row }) => row);
    for (const row of soon) this.warned.add(row.id);
    const later = left.filter(({ at }) => at > now).map(({ at }) => at);
    return { soon, next: later.length > 0 ? Math.min(...later) - now : undefined };
  }
}
