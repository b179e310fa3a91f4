import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

// Fonts are compressed as they are.
const worthIt = /\.(js|css|svg|html)$/;

/** Puts a .gz beside every file that is smaller with it, so that the server never compresses. */
export function compressed(): Plugin {
  let dist = '';
  return {
    name: 'compressed',
    apply: 'build',
    configResolved({ root, build }) {
      dist = resolve(root, build.outDir);
    },
    closeBundle() {
      for (const entry of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
        if (!worthIt.test(entry)) continue;
        const bytes = readFileSync(join(dist, entry));
        const small = gzipSync(bytes, { level: 9 });
        if (small.length < bytes.length * 0.9) writeFileSync(join(dist, `${entry}.gz`), small);
      }
    },
  };
}
