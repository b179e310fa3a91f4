import { listModelCalls, listToolCalls } from '../../api/reads';
import type { ModelCall, ToolCall } from '../../api/types';
import type { Activity } from '../../store/activity';
import { modelCallId, toolCallId } from '../../store/rows';
import type { Done } from './spans';

/** How many calls are asked for at once, and for how many agents at a time. */
const PAGE = 200;
const AT_ONCE = 4;
/** In milliseconds. */
const TOGETHER = 80;

interface Pages {
  /** Up to which snapshot they reach. */
  as_of: number;
  modelCalls: readonly ModelCall[];
  toolCalls: readonly ToolCall[];
}

/**
 * What agents did before the page was opened. It is read for those that are looked at, a few at a time, and goes when the
 * page does: the store has only what came since.
 */
export class CallPages {
  version = 0;
  private readonly read = new Map<string, Pages>();
  private readonly failed = new Set<string>();
  private readonly underWay = new Set<string>();
  private wanted: readonly string[] = [];
  private asOf = 0;
  private saying: ReturnType<typeof setTimeout> | undefined;
  private ended = new AbortController();
  private readonly listeners = new Set<() => void>();

  constructor(private readonly conversation: string) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  of(agent: string): Pages | undefined {
    return this.read.get(agent);
  }

  hasFailed = (agent: string): boolean => this.failed.has(agent);

  /** Says who is looked at, and up to which event the store knows things from a snapshot only. */
  want(agents: readonly string[], asOf: number): void {
    this.wanted = agents;
    this.asOf = asOf;
    this.next();
  }

  /** Tries again what could not be read. */
  retry(): void {
    this.failed.clear();
    this.changed();
    this.next();
  }

  /** Ends what is under way. It can be gone on with. */
  close(): void {
    this.wanted = [];
    this.ended.abort();
    this.ended = new AbortController();
  }

  private next(): void {
    for (const agent of this.wanted) {
      if (this.underWay.size >= AT_ONCE) return;
      const enough = (this.read.get(agent)?.as_of ?? -1) >= this.asOf;
      if (enough || this.failed.has(agent) || this.underWay.has(agent)) continue;
      this.underWay.add(agent);
      void this.load(agent, this.asOf).finally(() => {
        this.underWay.delete(agent);
        this.changed();
        this.next();
      });
    }
  }

  private async load(agent: string, asOf: number): Promise<void> {
    const { signal } = this.ended;
    const pageOf = (before?: number) => ({ limit: PAGE, ...(before ? { before } : {}) });
    try {
      const [modelCalls, toolCalls] = await Promise.all([
        all((before) => listModelCalls(this.conversation, agent, pageOf(before), { signal })),
        all((before) => listToolCalls(this.conversation, agent, pageOf(before), { signal })),
      ]);
      this.read.set(agent, { as_of: asOf, modelCalls, toolCalls });
    } catch {
      if (!signal.aborted) this.failed.add(agent);
    }
  }

  /** Says so once for what comes at nearly the same time: each time the whole page is drawn. */
  private changed(): void {
    this.saying ??= setTimeout(() => {
      this.saying = undefined;
      this.version++;
      for (const listener of this.listeners) listener();
    }, TOGETHER);
  }
}

/** All pages of a list, oldest first. */
async function all<T>(
  page: (before?: number) => Promise<{ items: T[]; before?: number | undefined }>,
): Promise<T[]> {
  const pages: T[][] = [];
  let before: number | undefined;
  do {
    const answer = await page(before);
    pages.unshift(answer.items);
    before = answer.before;
  } while (before !== undefined);
  return pages.flat();
}

/** What events say and what was read, together: what events say is newer. */
export function together(activity: Activity, pages: Pages | undefined): Done {
  if (!pages) return activity;
  const models = joined(pages.modelCalls, activity.modelCalls, (c) => modelCallId(c.task, c.call));
  const tools = joined(pages.toolCalls, activity.toolCalls, (c) => toolCallId(c.agent, c.call));
  return { ...activity, modelCalls: models, toolCalls: tools };
}

function joined<T extends { seq: number }>(
  read: readonly T[],
  told: readonly T[],
  id: (row: T) => string,
): T[] {
  const rows = new Map(read.map((row) => [id(row), row]));
  // A row whose beginning nobody told has only what came since.
  for (const row of told) rows.set(id(row), { ...rows.get(id(row)), ...row });
  return [...rows.values()];
}
