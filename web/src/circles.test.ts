// @vitest-environment node
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

type Graph = ReadonlyMap<string, readonly string[]>;

/** The modules of the app and the ones that each imports, types included. Tests are left out: nothing imports them. */
function modules(root: string): Graph {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.test)\.tsx?$/.test(name))
    .map((name) => join(root, name));
  return new Map(files.map((file) => [file, imports(file, readFileSync(file, 'utf8'))]));
}

/** The modules of the app that a text names after `from` or `import`. */
function imports(file: string, text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].flatMap(([, name]) =>
    ['', '.ts', '.tsx', '/index.ts']
      .map((end) => join(dirname(file), name ?? '') + end)
      .filter((path) => /\.tsx?$/.test(path) && existsSync(path)),
  );
}

/** The first circle that is found, from a module back to itself. Pages are loaded by the router, and may not lead back to it. */
function circle(graph: Graph): readonly string[] | undefined {
  const done = new Set<string>();
  const visit = (module: string, path: readonly string[]): readonly string[] | undefined => {
    const from = path.indexOf(module);
    if (from >= 0) return [...path.slice(from), module];
    if (done.has(module)) return undefined;
    for (const next of graph.get(module) ?? []) {
      const found = visit(next, [...path, module]);
      if (found) return found;
    }
    done.add(module);
    return undefined;
  };
  for (const module of graph.keys()) {
    const found = visit(module, []);
    if (found) return found;
  }
  return undefined;
}

describe('the modules of the app', () => {
  it('import each other in no circle: put the types that two share into a module of their own', () => {
    const graph = modules('src');
    expect(graph.get('src/store/conversation.ts')).toContain('src/store/apply.ts');
    expect(graph.get('src/shell/router.tsx')).toContain('src/features/chat/page.tsx');
    expect(circle(graph)).toBeUndefined();
  });

  it('would be found in a circle', () => {
    const graph = new Map([
      ['a', ['b']],
      ['b', ['c']],
      ['c', ['b']],
    ]);
    expect(circle(graph)).toEqual(['b', 'c', 'b']);
  });
});
