import type { InboxRow } from '../../store/list';

/** Names what exactly a row asks. */
export const versionOf = (row: InboxRow): string => `${row.id} ${row.approval?.hash ?? ''}`;

/**
 * What the inbox lists: what waits, without what was decided here, and with what is open on the screen even when it no
 * longer waits. It would vanish under somebody's hand otherwise.
 */
export function listedRows(
  rows: readonly InboxRow[],
  opened: InboxRow | undefined,
  done: ReadonlySet<string>,
): readonly InboxRow[] {
  const waiting = rows.filter((row) => !done.has(versionOf(row)));
  if (!opened || done.has(versionOf(opened)) || waiting.some((row) => row.id === opened.id)) {
    return waiting;
  }
  return [...waiting, opened].sort((a, b) => a.seq - b.seq || (a.id < b.id ? -1 : 1));
}
