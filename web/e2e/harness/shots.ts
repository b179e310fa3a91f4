import { resolve } from 'node:path';

/** Where pictures go: they are looked at, not kept. */
export const shots = resolve(import.meta.dirname, '../../../bin/shots');
