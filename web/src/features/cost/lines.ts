import type { Schemas, Usage } from '../../api/types';
import type { TreeRow } from '../../store/activity';
import { noUsage, plus } from '../../store/usage';

export type UsageLine = Schemas['UsageLine'];

/** One line of a table: what was used by it alone. With what is below it is beside it and never added to anything. */
export interface Line {
  name: string;
  calls: number;
  own: Usage;
  subtree?: Usage;
  depth: number;
  /** The agent that it is about, if it is about one. */
  agent?: string;
  role?: string;
}

/** What all lines used. Each call is in one line, so it is what the conversation used. */
export const totalOf = (lines: readonly { own: Usage }[]): Usage =>
  lines.reduce((sum, line) => plus(sum, line.own), noUsage);

/** The agents as a tree, each with what it used. Those without a call are there too, and no call is left out. */
export function byAgent(tree: readonly TreeRow[], items: readonly UsageLine[]): Line[] {
  const used = new Map(items.map((item) => [item.name, item]));
  const lines = tree.map(({ agent, depth }): Line => {
    const item = used.get(agent.id);
    used.delete(agent.id);
    return {
      name: agent.id,
      agent: agent.id,
      role: agent.role,
      depth,
      calls: item?.calls ?? 0,
      own: item?.own ?? noUsage,
      subtree: item?.subtree ?? below(agent.id, items),
    };
  });
  // One that the page has not heard of yet.
  const unknown = [...used.values()].map(
    (item): Line => ({ ...item, subtree: item.subtree ?? item.own, depth: 0, agent: item.name }),
  );
  return [...lines, ...unknown];
}

/** What is used below an agent that has called no model itself. */
const below = (agent: string, items: readonly UsageLine[]): Usage =>
  totalOf(items.filter((item) => item.name.startsWith(`${agent}/`)));

/** Roles or models, the dearest first. */
export function byName(items: readonly UsageLine[]): Line[] {
  return [...items]
    .sort((a, b) => b.own.cost_micro_usd - a.own.cost_micro_usd || b.own.input - a.own.input)
    .map((item) => ({ name: item.name, calls: item.calls, own: item.own, depth: 0 }));
}

/** Turns of agents, as they came. */
export function byTurn(tree: readonly TreeRow[], items: readonly UsageLine[]): Line[] {
  const roles = new Map(tree.map(({ agent }) => [agent.id, agent.role]));
  return items.map((item): Line => {
    const at = item.name.lastIndexOf('#');
    const agent = item.name.slice(0, at);
    const turn = item.name.slice(at + 1);
    const role = roles.get(agent);
    return {
      // What an agent asks a model between turns, such as whether it knows an answer, has no turn.
      name: turn === '0' ? 'Between turns' : `Turn ${turn}`,
      calls: item.calls,
      own: item.own,
      depth: 0,
      agent,
      ...(role === undefined ? {} : { role }),
    };
  });
}

/** How much of what was sent came from a cache. */
export const cachedShare = (used: Usage): number =>
  used.input > 0 ? used.cache_read / used.input : 0;

export interface Piece {
  name: string;
  percent: number;
}

/** The parts of the budget's bar, in percent of it: what each role used, and what is held for calls under way. */
export function barPieces(
  roles: readonly Line[],
  held: number,
  limit: number | undefined,
): { pieces: Piece[]; held: number } {
  const spent = totalOf(roles).cost_micro_usd;
  // Without a limit the bar shows shares; beyond one it is full.
  const whole = Math.max(limit ?? 0, spent + held, 1);
  return {
    pieces: roles
      .filter((line) => line.own.cost_micro_usd > 0)
      .map((line) => ({ name: line.name, percent: (line.own.cost_micro_usd / whole) * 100 })),
    held: (held / whole) * 100,
  };
}
