import { inOrder, type Table } from './table';

/**
 * The rows of a table by something they have in common. It is brought up to date when it is asked, with the rows that
 * changed since: what one row costs does not grow with the table. The groups that did not change stay the same arrays.
 */
export class Index<T extends { id: string; seq: number }> {
  private readonly keys = new Map<string, string>();
  private readonly groups = new Map<string, Group<T>>();
  private seen = 0;

  constructor(
    private readonly table: Table<T>,
    private readonly keyOf: (row: T) => string | undefined,
  ) {}

  /** The rows that have it in common, in the order in which they came into being. */
  of(key: string): readonly T[] {
    return this.group(key).all();
  }

  /** The same, with a version that grows only when something about these rows changes. */
  group(key: string): Group<T> {
    this.update();
    return this.groupOf(key);
  }

  private groupOf(key: string): Group<T> {
    let group = this.groups.get(key);
    if (!group) {
      group = new Group();
      this.groups.set(key, group);
    }
    return group;
  }

  private update(): void {
    if (this.seen === this.table.version) return;
    const changed = this.table.changedSince(this.seen) ?? this.everything();
    for (const id of changed) this.place(id, this.table.get(id));
    this.seen = this.table.version;
  }

  /** All rows that there are, and those that there were. */
  private everything(): Iterable<string> {
    return new Set([...this.keys.keys(), ...this.table.all().map((row) => row.id)]);
  }

  private place(id: string, row: T | undefined): void {
    const before = this.keys.get(id);
    const key = row && this.keyOf(row);
    if (before !== undefined && before !== key) this.take(id, before);
    if (!row || key === undefined) return;
    this.groupOf(key).put(row);
    this.keys.set(id, key);
  }

  private take(id: string, key: string): void {
    this.keys.delete(id);
    this.groupOf(key).take(id);
  }
}

/** Rows that have something in common. */
export class Group<T extends { id: string; seq: number }> {
  version = 0;
  private readonly rows = new Map<string, T>();
  private sorted: readonly T[] | undefined = none;

  all(): readonly T[] {
    this.sorted ??= [...this.rows.values()].sort(inOrder);
    return this.sorted;
  }

  put(row: T): void {
    if (this.rows.get(row.id) === row) return;
    this.rows.set(row.id, row);
    this.changed();
  }

  take(id: string): void {
    if (this.rows.delete(id)) this.changed();
  }

  private changed(): void {
    this.version++;
    this.sorted = undefined;
  }
}

const none: readonly never[] = [];
