/** Fields of a row that an event says something about. One that is undefined is taken away. */
export type Fields<T> = { [K in keyof T]?: T[K] | undefined };

/** What has ended has ended: whatever else is said of it, however late, does not count. */
const END = 2 ** 45;

/** The version of something that is said once and for all. */
export const final = (seq: number): number => seq + END;

/** So many changes are worked into what is sorted; after more it is sorted again. */
const FEW = 64;

/** No version: one that was removed may be there again, and must not stand among the sorted ones twice. */
const NEVER = -1;

interface Row<T> {
  value: T;
  versions: Record<string, number>;
  born: boolean;
  /** The seq by which it stands among the sorted rows, once it does. */
  placed?: number;
}

/**
 * Rows by their ids. Each field remembers the seq of the event that it comes from, and the later one wins. So it makes no
 * difference in which order events come, or how often. Rows are replaced, never changed: who holds one can compare it.
 */
export class Table<T extends { id: string; seq: number }> {
  /** Grows with every change. */
  version = 0;
  private readonly rows = new Map<string, Row<T>>();
  /** The ids of what changed, the last at the end; those before it are forgotten. */
  private changes: string[] = [];
  private forgotten = 0;
  private sorted: readonly T[] = [];
  private sortedAt = 0;

  /** Says what is known of a row that may not have come into being yet. The later seq wins, field by field. */
  put(id: string, fields: Fields<T>, seq: number): void {
    this.merge(id, fields, seq, (before) => before === undefined || seq > before);
  }

  /** The same for what the earliest event decides, such as when something began. */
  first(id: string, fields: Fields<T>, seq: number): void {
    this.merge(id, fields, seq, (before) => before === undefined || seq < before);
  }

  /** Says that a row is there. Until then nobody sees it. */
  bear(id: string, fields: Fields<T>, seq: number): void {
    this.put(id, fields, seq);
    const row = this.row(id);
    if (row.born) return;
    row.born = true;
    this.changed(id);
  }

  get(id: string): T | undefined {
    const row = this.rows.get(id);
    return row?.born ? row.value : undefined;
  }

  /** All rows, in the order in which they came into being. The same array until something changes. */
  all(): readonly T[] {
    if (this.sortedAt !== this.version) {
      this.sorted = this.amended() ?? this.sortedAnew();
      this.sortedAt = this.version;
    }
    return this.sorted;
  }

  /** The rows that changed after a version, or went away; undefined if that is too long ago to be known. */
  changedSince(version: number): ReadonlySet<string> | undefined {
    if (version < this.forgotten) return undefined;
    return new Set(this.changes.slice(version - this.forgotten));
  }

  remove(id: string): void {
    if (!this.rows.delete(id)) return;
    this.changed(id);
    this.sortedAt = NEVER;
  }

  clear(): void {
    const ids = [...this.rows.keys()];
    this.rows.clear();
    for (const id of ids) this.changed(id);
    this.sortedAt = NEVER;
  }

  private sortedAnew(): readonly T[] {
    const rows: T[] = [];
    for (const row of this.rows.values()) {
      if (!row.born) continue;
      row.placed = row.value.seq;
      rows.push(row.value);
    }
    return rows.sort(inOrder);
  }

  /** The sorted rows with what changed put in its place; undefined if much changed, or not at its place or at the end. */
  private amended(): readonly T[] | undefined {
    const changed = this.changedSince(this.sortedAt);
    if (!changed || changed.size > FEW) return undefined;
    const rows = [...this.sorted];
    for (const id of changed) {
      const row = this.rows.get(id);
      if (!row) return undefined;
      if (!row.born) continue;
      const at = placeOf(rows, row.value);
      if (row.placed === row.value.seq) rows[at] = row.value;
      else if (row.placed !== undefined || at < rows.length) return undefined;
      else rows.push(row.value);
      row.placed = row.value.seq;
    }
    return rows;
  }

  private merge(
    id: string,
    fields: Fields<T>,
    seq: number,
    wins: (before: number | undefined) => boolean,
  ): void {
    const row = this.row(id);
    let next: T | undefined;
    for (const name of Object.keys(fields) as (keyof T & string)[]) {
      if (!wins(row.versions[name])) continue;
      row.versions[name] = seq;
      const value = fields[name];
      if (Object.is(row.value[name], value)) continue;
      next ??= { ...row.value };
      if (value === undefined) delete next[name];
      else next[name] = value as T[keyof T & string];
    }
    if (!next) return;
    row.value = next;
    this.changed(id);
  }

  private row(id: string): Row<T> {
    let row = this.rows.get(id);
    if (!row) {
      row = { value: { id, seq: 0 } as T, versions: {}, born: false };
      this.rows.set(id, row);
    }
    return row;
  }

  private changed(id: string): void {
    this.version++;
    this.changes.push(id);
    // Who asks later than this looks at all rows.
    if (this.changes.length <= FEW * 4 + this.rows.size * 2) return;
    const half = this.changes.length >> 1;
    this.changes = this.changes.slice(half);
    this.forgotten += half;
  }
}

/** The order in which rows came into being. */
export const inOrder = <T extends { id: string; seq: number }>(a: T, b: T): number =>
  a.seq - b.seq || (a.id < b.id ? -1 : 1);

/** Where a row stands among sorted ones, or would stand. */
function placeOf<T extends { id: string; seq: number }>(rows: readonly T[], row: T): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = rows[middle];
    if (other && inOrder(other, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
