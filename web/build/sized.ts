import { gzipSync } from 'node:zlib';
import type { Plugin, Rolldown } from 'vite';

// What may be loaded, compressed, in KB. The chat is the first page of most: it counts with the entry.
const ENTRY = 200;
const PART = 15;
const CHAT = ENTRY + PART;

/** Libraries that several parts share count once, each for itself. */
const libraries =
  /\/node_modules\/(@tanstack\/(react-)?virtual|marked|remend|highlight\.js|lowlight)/;
const chat = ['shell/conversation.tsx', 'features/chat/page.tsx'];

type Chunk = Rolldown.OutputChunk;

/** Holds what a page loads against its budget, says the figures, and fails the build when one is too much. */
export function sized(): Plugin {
  return {
    name: 'sized',
    apply: 'build',
    generateBundle(_, bundle) {
      const chunks = new Map<string, Chunk>();
      for (const each of Object.values(bundle)) {
        if (each.type === 'chunk') chunks.set(each.fileName, each);
      }
      const figures = figuresOf(chunks);
      for (const { what, kb, budget } of figures) {
        if (kb > budget / 2) this.info(`${what}: ${kb.toFixed(1)} of ${budget} KB`);
      }
      const over = figures.filter(({ kb, budget }) => kb > budget);
      if (over.length === 0) return;
      this.error(over.map(({ what, kb }) => `${what} is ${kb.toFixed(1)} KB, too much`).join('\n'));
    },
  };
}

interface Figure {
  what: string;
  kb: number;
  budget: number;
}

function figuresOf(chunks: ReadonlyMap<string, Chunk>): Figure[] {
  const all = [...chunks.values()];
  const entry = all.find((each) => each.isEntry);
  if (!entry) throw new Error('there is no entry');
  const there = whatIsThere(chunks, entry.fileName);
  const sum = (names: Iterable<string>) =>
    [...names].reduce((kb, name) => kb + sizeOf(chunks.get(name)?.code ?? ''), 0);
  const inEntry = closure(chunks, entry.fileName);
  const talk = new Set(inEntry);
  const figures: Figure[] = [];
  for (const [name, before] of there) {
    const what = nameOf(chunks.get(name));
    const loaded = [...closure(chunks, name)].filter((each) => !before.has(each));
    if (chat.includes(what)) for (const each of loaded) talk.add(each);
    else {
      const own = loaded.filter((each) => !isLibrary(chunks.get(each)));
      figures.push({ what, kb: sum(own), budget: PART });
    }
  }
  for (const each of all.filter((one) => isLibrary(one) && !inEntry.has(one.fileName))) {
    figures.push({ what: each.name, kb: sizeOf(each.code), budget: PART });
  }
  figures.push({ what: 'the chat with all that it loads', kb: sum(talk), budget: CHAT });
  figures.push({ what: 'the entry', kb: sum(inEntry), budget: ENTRY });
  return figures.sort((a, b) => b.kb / b.budget - a.kb / a.budget);
}

/** What is certain to be loaded when each part begins to: what all who load it have. */
function whatIsThere(chunks: ReadonlyMap<string, Chunk>, entry: string) {
  const parts = [...chunks.values()].filter((each) => each.isDynamicEntry);
  const there = new Map(parts.map((each) => [each.fileName, new Set(chunks.keys())]));
  const roots = [entry, ...there.keys()].map((name) => {
    const own = closure(chunks, name);
    const loads = new Set([...own].flatMap((each) => chunks.get(each)?.dynamicImports ?? []));
    return { name, own, loads };
  });
  for (let changed = true; changed; ) {
    changed = false;
    for (const [part, before] of there) {
      for (const { name, own, loads } of roots) {
        if (!loads.has(part) || name === part) continue;
        for (const each of before) {
          if (own.has(each) || there.get(name)?.has(each)) continue;
          before.delete(each);
          changed = true;
        }
      }
    }
  }
  return there;
}

/** A chunk with all that it needs to run. */
function closure(chunks: ReadonlyMap<string, Chunk>, name: string, into = new Set<string>()) {
  const chunk = chunks.get(name);
  if (!chunk || into.has(name)) return into;
  into.add(name);
  for (const next of chunk.imports) closure(chunks, next, into);
  return into;
}

const isLibrary = (chunk: Chunk | undefined): boolean =>
  chunk?.moduleIds.every((id) => libraries.test(id) || id.startsWith('\0')) ?? false;

const sizeOf = (code: string): number => gzipSync(code, { level: 9 }).length / 1024;

const nameOf = (chunk: Chunk | undefined): string =>
  (chunk?.facadeModuleId ?? chunk?.name ?? '').replace(/^.*\/(src|node_modules)\//, '');
