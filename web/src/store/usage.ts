import type { Usage } from '../api/types';
import { cached } from './selectors';
import type { ConversationTables } from './state';

export const noUsage: Usage = {
  input: 0,
  output: 0,
  cache_read: 0,
  cache_write: 0,
  reasoning: 0,
  cost_micro_usd: 0,
  unpriced_calls: 0,
};

export function plus(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cache_read: a.cache_read + b.cache_read,
    cache_write: a.cache_write + b.cache_write,
    reasoning: a.reasoning + b.reasoning,
    cost_micro_usd: a.cost_micro_usd + b.cost_micro_usd,
    unpriced_calls: a.unpriced_calls + b.unpriced_calls,
  };
}

/** What the whole conversation used: as the last snapshot says, and what calls that ended since then used. */
export const totalUsage = (state: ConversationTables): Usage =>
  cached(state, 'used', [state.modelCalls, { version: state.spent?.seq ?? 0 }], () =>
    plus(state.spent?.used ?? noUsage, sums(state).of('')),
  );

/** What an agent's own calls used. */
export const ownUsage = (state: ConversationTables, agent: string): Usage =>
  plus(state.spent?.agents[agent]?.own ?? noUsage, sums(state).of(`=${agent}`));

/** What an agent and all below it used. Not to be summed with theirs. */
export const subtreeUsage = (state: ConversationTables, agent: string): Usage =>
  plus(state.spent?.agents[agent]?.subtree ?? noUsage, sums(state).of(agent));

/** What calls used that ended after a snapshot. Each call is added once, however many there are. */
class Sums {
  private readonly totals = new Map<string, Usage>();
  private readonly counted = new Map<string, Usage>();
  private seen = 0;

  constructor(
    private readonly state: ConversationTables,
    readonly after: number,
  ) {}

  /** Of an agent and all below it; of itself alone with = before it; of all with nothing. */
  of(key: string): Usage {
    this.update();
    return this.totals.get(key) ?? noUsage;
  }

  private update(): void {
    const { modelCalls } = this.state;
    if (this.seen === modelCalls.version) return;
    const changed = modelCalls.changedSince(this.seen) ?? modelCalls.all().map((call) => call.id);
    this.seen = modelCalls.version;
    for (const id of changed) this.count(id);
  }

  private count(id: string): void {
    const call = this.state.modelCalls.get(id);
    if (!call || call.ended <= this.after) return;
    const before = this.counted.get(id);
    if (before === call.usage) return;
    this.counted.set(id, call.usage);
    const more = before ? plus(call.usage, times(before, -1)) : call.usage;
    for (const key of ['', `=${call.agent}`, ...upwards(call.agent)]) {
      this.totals.set(key, plus(this.totals.get(key) ?? noUsage, more));
    }
  }
}

const kept = new WeakMap<ConversationTables, Sums>();

function sums(state: ConversationTables): Sums {
  const after = state.spent?.seq ?? 0;
  let found = kept.get(state);
  if (!found || found.after !== after) {
    found = new Sums(state, after);
    kept.set(state, found);
  }
  return found;
}

/** An agent and all above it: their ids are the beginnings of its own. */
function upwards(agent: string): string[] {
  const parts = agent.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function times(usage: Usage, factor: number): Usage {
  const entries = Object.entries(usage).map(([name, value]) => [name, (value as number) * factor]);
  return Object.fromEntries(entries) as Usage;
}
