// Scenarios of one file share a server and a browser; each has conversations and tabs of its own.

import { after, before, test } from 'node:test';
import type { Gate } from './screens.ts';
import { type Options, Server } from './server.ts';
import { anyShots, beginShots, fileName, shot, takenShots } from './shot.ts';
import { closeBrowser, type Looks, Visit } from './visit.ts';

/** No scenario takes this long unless something hangs. */
const LONGEST = 240_000;

export interface Stage {
  readonly server: Server;
  /** Begins a visit, which is over and looked into when the scenario ends. */
  visit(looks?: Looks): Promise<Visit>;
}

export interface Place {
  /** The gate plays this one: for the screens that it shows, of which each has one, or for what it promises. */
  gate?: Gate | readonly Gate[];
}

type Play = (on: Stage) => Promise<void>;

/** Adds a scenario to a file. */
export interface Scenario {
  (name: string, play: Play): void;
  (name: string, place: Place, play: Play): void;
}

/** Whether only the scenarios of the gate are played. */
export const gateOnly = process.env.TEST_RETINUE_SCENARIOS === 'gate';

/** Starts a server for the scenarios of this file. If none of them is played, there is none. */
export function stage(options: Options): Scenario {
  let server: Server;
  let staged = false;
  const set = () => {
    if (staged) return;
    staged = true;
    before(async () => {
      server = await Server.start(options);
    });
    after(async () => {
      await closeBrowser();
      await server?.stop();
    });
  };
  return (name: string, placeOrPlay: Place | Play, given?: Play) => {
    const place = typeof placeOrPlay === 'function' ? {} : placeOrPlay;
    const play = typeof placeOrPlay === 'function' ? placeOrPlay : given;
    if (!play) throw new Error(`${name}: there is nothing to play`);
    if (gateOnly && place.gate === undefined) return;
    set();
    test(name, { timeout: LONGEST }, async (t) => {
      const visits: Visit[] = [];
      beginShots();
      const on: Stage = {
        server,
        visit: async (looks) => {
          const visit = await Visit.begin(server, looks);
          visits.push(visit);
          return visit;
        },
      };
      try {
        await play(on);
        await lastScreens(name, visits);
      } catch (error) {
        // What failed says more than what is left over.
        await Promise.all(visits.map((visit, at) => visit.picture(`failed ${name} ${at}`)));
        await Promise.allSettled(visits.map((visit) => visit.end()));
        throw error;
      }
      await Promise.all(visits.map((visit) => visit.end()));
      t.diagnostic(`pictures ${takenShots().length} ${name}`);
    });
  };
}

/** Every scenario is looked at: one that took no picture on its way is taken where it ended. */
async function lastScreens(name: string, visits: readonly Visit[]): Promise<void> {
  if (anyShots()) return;
  const page = visits.flatMap((visit) => visit.context.pages()).at(-1);
  if (!page) throw new Error('the scenario ends without a page: there is nothing to look at');
  await page.bringToFront();
  await shot(page, fileName(name));
}
