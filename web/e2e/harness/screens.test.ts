import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { router } from '../../src/shell/router';
import { gaps, namesIn, screens } from './screens.ts';

// The frame begins to read from the server as soon as it is there.
vi.mock('../../src/shell/frame', () => ({ Frame: () => null }));

const web = resolve(import.meta.dirname, '../..');

/** Addresses that show something: those of layouts lead to their first page. */
const addresses = Object.values(
  router.routesById as Record<string, { children?: unknown; fullPath: string }>,
)
  .filter((route) => route.children === undefined)
  .map((route) => route.fullPath);
const features = readdirSync(join(web, 'src/features'));
const shown = readdirSync(join(web, 'e2e'))
  .filter((name) => name.endsWith('.test.ts'))
  .flatMap((name) => namesIn(readFileSync(join(web, 'e2e', name), 'utf8')));

describe('the scenarios of the gate', () => {
  it('show every screen of the app, and nothing that is none', () => {
    expect(gaps(screens, { addresses, features }, shown)).toEqual([]);
  });

  it('are told when a screen has none', () => {
    expect(
      gaps(
        screens,
        { addresses, features },
        shown.filter((name) => name !== 'cost'),
      ),
    ).toEqual(['no scenario of the gate shows: cost']);
  });

  it('are told of a name that is no screen', () => {
    expect(gaps(screens, { addresses, features }, [...shown, 'cots'])).toEqual([
      'a scenario of the gate shows what is not there: cots',
    ]);
  });

  it('are told when the router or the features have what the list lacks', () => {
    expect(
      gaps(
        screens,
        { addresses: [...addresses, '/audit'], features: [...features, 'audit'] },
        shown,
      ),
    ).toEqual([
      'the router has an address that is no screen: /audit',
      'a folder of features is no screen: audit',
    ]);
  });

  it('are told when the list has what the app lacks', () => {
    const less = {
      addresses: addresses.filter((each) => each !== '/runs'),
      features: features.filter((each) => each !== 'runs'),
    };
    expect(gaps(screens, less, shown)).toEqual([
      'the router has no such address: /runs',
      'there is no such folder of features: runs',
    ]);
  });

  it('are found in the text of a file', () => {
    const text =
      "scenario('a', { gate: 'chat' }, play);\nscenario('b', {\n gate: ['cost', 'not found'],\n});";
    expect(namesIn(text)).toEqual(['chat', 'cost', 'not found']);
  });
});
