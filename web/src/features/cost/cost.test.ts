import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Usage } from '../../api/types';
import type { TreeRow } from '../../store/activity';
import { noUsage, plus } from '../../store/usage';
import { barPieces, byAgent, byName, byTurn, totalOf, type UsageLine } from './lines';

const usage = fc
  .tuple(fc.nat(1e6), fc.nat(1e6), fc.nat(1e6), fc.nat(1e7), fc.nat(3))
  .map(([input, cache_read, output, cost_micro_usd, unpriced_calls]): Usage => {
    return { ...noUsage, input, cache_read, output, cost_micro_usd, unpriced_calls };
  });

/** A tree of agents of which some have called a model, summed up as the server does. */
const bill = fc
  .array(fc.tuple(fc.nat(), fc.option(usage)), { minLength: 1, maxLength: 25 })
  .map((made) => {
    const ids: string[] = [];
    for (const [i, [parent]] of made.entries()) {
      ids.push(i === 0 ? 'main' : `${ids[parent % i]}/${i}.0.0`);
    }
    const tree = [...ids].sort().map((id): TreeRow => {
      const depth = id.split('/').length - 1;
      return { agent: { id, seq: 1, depth, role: 'coder', task: id }, depth, below: 0 };
    });
    const used = new Map(ids.map((id, i) => [id, made[i]?.[1] ?? undefined]));
    const items = ids.flatMap((name): UsageLine[] => {
      const own = used.get(name);
      if (!own) return [];
      const subtree = ids
        .filter((id) => id === name || id.startsWith(`${name}/`))
        .reduce((sum, id) => plus(sum, used.get(id) ?? noUsage), noUsage);
      return [{ name, calls: 1, own, subtree }];
    });
    return { tree, items, total: totalOf(items) };
  });

describe('lines by agent', () => {
  it('sum up to what the conversation used, whatever of the tree is known', () => {
    fc.assert(
      fc.property(bill, fc.nat(25), ({ tree, items, total }, known) => {
        const lines = byAgent(tree.slice(0, known), items);
        expect(totalOf(lines)).toEqual(total);
        expect(lines.reduce((n, line) => n + line.calls, 0)).toBe(items.length);
      }),
    );
  });

  it('say what each used with all below it, and the orchestrator that is everything', () => {
    fc.assert(
      fc.property(bill, ({ tree, items, total }) => {
        const lines = byAgent(tree, items);
        expect(lines[0]?.subtree).toEqual(total);
        for (const line of lines) {
          const below = lines.filter((l) => l.name.startsWith(`${line.name}/`));
          expect(line.subtree).toEqual(plus(line.own, totalOf(below)));
        }
      }),
    );
  });
});

describe('other lines', () => {
  it('keep every call, the dearest first', () => {
    fc.assert(
      fc.property(bill, ({ items, total }) => {
        const lines = byName(items);
        expect(totalOf(lines)).toEqual(total);
        const costs = lines.map((line) => line.own.cost_micro_usd);
        expect(costs).toEqual([...costs].sort((a, b) => b - a));
      }),
    );
  });

  it('name the turns of agents', () => {
    const tree = [
      {
        agent: { id: 'main/1.0.0', seq: 1, depth: 1, role: 'coder', task: 't' },
        depth: 1,
        below: 0,
      },
    ];
    const items = ['main/1.0.0#2', 'main#0'].map((name) => ({ name, calls: 1, own: noUsage }));
    expect(byTurn(tree, items).map((l) => [l.agent, l.role, l.name])).toEqual([
      ['main/1.0.0', 'coder', 'Turn 2'],
      ['main', undefined, 'Between turns'],
    ]);
  });
});

describe('the bar', () => {
  it('is never more than full, and full without a limit', () => {
    const limits = fc.option(fc.integer({ min: 1, max: 1e8 }), { nil: undefined });
    fc.assert(
      fc.property(bill, fc.nat(1e7), limits, ({ items }, held, limit) => {
        const bar = barPieces(byName(items), held, limit);
        const sum = bar.pieces.reduce((n, piece) => n + piece.percent, bar.held);
        expect(sum).toBeLessThanOrEqual(100 + 1e-6);
        const any = held + totalOf(items).cost_micro_usd > 0;
        if (limit === undefined && any) expect(sum).toBeCloseTo(100, 6);
      }),
    );
  });
  it('shows how much of the limit is spent', () => {
    const line = {
      name: 'coder',
      calls: 1,
      own: { ...noUsage, cost_micro_usd: 1_250_000 },
      depth: 0,
    };
    const bar = barPieces([line], 500_000, 5_000_000);
    expect(bar).toEqual({ pieces: [{ name: 'coder', percent: 25 }], held: 10 });
  });
});
