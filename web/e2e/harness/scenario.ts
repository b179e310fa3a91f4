// Scenarios of one file share a server and a browser; each has conversations and tabs of its own.

import { after, before, test } from 'node:test';
import { type Options, Server } from './server.ts';
import { anyShots, beginShots, fileName, shot, takenShots } from './shot.ts';
import { closeBrowser, type Looks, Visit } from './visit.ts';

/** No scenario takes this long unless something hangs. */
const LONGEST = 150_000;

export interface Stage {
  readonly server: Server;
  /** Begins a visit, which is over and looked into when the scenario ends. */
  visit(looks?: Looks): Promise<Visit>;
}

/** Starts a server for the scenarios of this file. */
export function stage(
  options: Options,
): (name: string, play: (on: Stage) => Promise<void>) => void {
  let server: Server;
  before(async () => {
    server = await Server.start(options);
  });
  after(async () => {
    await closeBrowser();
    await server?.stop();
  });
  return (name, play) => {
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
