import type { ReactNode } from 'react';
import { fuzzy } from './fuzzy';

export const groups = ['Needs you', 'Agents', 'Conversations', 'Commands', 'Messages'] as const;

export type Group = (typeof groups)[number];

/** One thing that the palette offers. */
export interface Entry {
  id: string;
  group: Group;
  /** What it is called, and what is searched. */
  text: string;
  /** More words, which are shown quietly and searched too. */
  more?: string;
  icon: ReactNode;
  keys?: ReactNode;
  run: () => void;
}

export interface Found extends Entry {
  /** Which letters of the text were found. */
  at: readonly number[];
}

const PER_GROUP = 6;
const IN_ALL = 40;

/** What fits, best first within each group; without a query, the beginning of each group. */
export function find(query: string, entries: readonly Entry[]): Found[] {
  const q = query.trim();
  if (q === '') {
    return groups.flatMap((group) => {
      const own = entries.filter((entry) => entry.group === group);
      return own
        .slice(0, group === 'Commands' ? own.length : PER_GROUP)
        .map((e) => ({ ...e, at: [] }));
    });
  }
  const scored = entries.flatMap((entry) => {
    // What the server found fits already.
    if (entry.group === 'Messages') return [{ ...entry, at: [], score: -1000 }];
    const match = fuzzy(q, entry.more ? `${entry.text} ${entry.more}` : entry.text);
    if (!match) return [];
    return [{ ...entry, at: match.at.filter((i) => i < entry.text.length), score: match.score }];
  });
  const best = (group: Group) =>
    Math.max(...scored.filter((each) => each.group === group).map((each) => each.score));
  return groups
    .filter((group) => scored.some((each) => each.group === group))
    .sort((a, b) => best(b) - best(a))
    .flatMap((group) =>
      scored
        .filter((each) => each.group === group)
        .sort((a, b) => b.score - a.score)
        .slice(0, group === 'Commands' ? IN_ALL : PER_GROUP * 2),
    )
    .slice(0, IN_ALL);
}
