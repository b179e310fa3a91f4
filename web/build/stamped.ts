import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Plugin } from 'vite';

/** Writes into what was built what it was built from, so that a stale one is not embedded. */
export function stamped(): Plugin {
  const folder = join(import.meta.dirname, '..');
  let dist = '';
  return {
    name: 'stamped',
    apply: 'build',
    configResolved({ root, build }) {
      dist = resolve(root, build.outDir);
    },
    // A bundle that could not be made is closed too, but never written.
    writeBundle() {
      const stamp = execFileSync('bash', ['build/stamp.sh'], { cwd: folder });
      writeFileSync(join(dist, 'stamp'), stamp);
    },
  };
}
