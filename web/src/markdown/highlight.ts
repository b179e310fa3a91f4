// Colours for code: highlight.js grammars, loaded when a block first needs one. A block is coloured when its fence is
// closed, never while it comes in.

import type { LanguageFn } from 'highlight.js';
import { createLowlight } from 'lowlight';

export interface Piece {
  text?: string;
  className?: string;
  children?: Piece[];
}

type Grammar = () => Promise<{ default: LanguageFn }>;

const grammars: Record<string, Grammar> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  dockerfile: () => import('highlight.js/lib/languages/dockerfile'),
  go: () => import('highlight.js/lib/languages/go'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  python: () => import('highlight.js/lib/languages/python'),
  rust: () => import('highlight.js/lib/languages/rust'),
  sql: () => import('highlight.js/lib/languages/sql'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
};

const aliases: Record<string, string> = {
  golang: 'go',
  html: 'xml',
  js: 'javascript',
  jsx: 'javascript',
  py: 'python',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  tsx: 'typescript',
  yml: 'yaml',
};

/** Longer code stays plain: colouring it would stop the page. */
const MOST = 60_000;
const CACHED = 400;

const lowlight = createLowlight();
const cache = new Map<string, Piece[]>();
const keyOf = (language: string, code: string) => `${language}\n${code}`;

/** What was coloured before. */
export const highlighted = (language: string, code: string): Piece[] | undefined =>
  cache.get(keyOf(language, code));

/** Colours a piece of code; undefined if its language is not known. */
export async function highlight(language: string, code: string): Promise<Piece[] | undefined> {
  const hit = highlighted(language, code);
  if (hit) return hit;
  const name = aliases[language] ?? language;
  const load = Object.hasOwn(grammars, name) ? grammars[name] : undefined;
  if (!load || code.length > MOST) return undefined;
  if (!lowlight.registered(name)) lowlight.register(name, (await load()).default);
  const pieces = (lowlight.highlight(name, code).children as Node[]).map(pieceOf);
  const oldest = cache.keys().next().value;
  if (cache.size >= CACHED && oldest !== undefined) cache.delete(oldest);
  cache.set(keyOf(language, code), pieces);
  return pieces;
}

interface Node {
  type: string;
  value?: string;
  properties?: { className?: string[] };
  children?: Node[];
}

function pieceOf(node: Node): Piece {
  if (node.type === 'text') return { text: node.value ?? '' };
  const className = node.properties?.className?.join(' ');
  const children = (node.children ?? []).map(pieceOf);
  return className === undefined ? { children } : { className, children };
}
