import type { Query, TaskStatus } from '../../api/types';

/** What the address says of the runs that are shown. */
export interface RunsSearch {
  status?: TaskStatus;
  role?: string;
  by?: string;
  /** The least that a run cost, in dollars. */
  cost?: number;
}

export const statuses = [
  'queued',
  'pending',
  'running',
  'waiting',
  'completed',
  'failed',
  'timed_out',
  'cancelled',
] as const satisfies readonly TaskStatus[];

// The compiler sees to it that none is missing.
const whole: Exclude<TaskStatus, (typeof statuses)[number]> extends never ? true : never = true;
void whole;

/** Reads a search as it stands in an address, where anything can stand. */
export function readSearch(raw: Record<string, unknown>): RunsSearch {
  const search: RunsSearch = {};
  const status = statuses.find((each) => each === raw.status);
  if (status) search.status = status;
  if (raw.role !== undefined && String(raw.role) !== '') search.role = String(raw.role);
  if (raw.by !== undefined && String(raw.by) !== '') search.by = String(raw.by);
  const cost = Number(raw.cost);
  if (Number.isFinite(cost) && cost > 0) search.cost = cost;
  return search;
}

/** What the server is asked. */
export function asQuery(search: RunsSearch): NonNullable<Query<'listAllTasks'>> {
  const { cost, ...rest } = search;
  return cost === undefined ? rest : { ...rest, min_cost_micro_usd: Math.round(cost * 1e6) };
}

/** The search without what is empty. */
export function changed(
  search: RunsSearch,
  part: Partial<Record<keyof RunsSearch, unknown>>,
): RunsSearch {
  return readSearch({ ...search, ...part });
}
